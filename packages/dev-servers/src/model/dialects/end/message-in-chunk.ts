import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, usageChunk } from '../wire.js';

export const messageInChunk: Dialect = {
  name: 'Chunks have a message beside the delta.',
  protocol: 'openai',
  server: 'Azure OpenAI',
  source: 'https://github.com/BerriAI/litellm/issues/1081',
  script: () =>
    raw(
      choice({ content: 'Hello.' }, null, { message: { role: 'assistant', content: null } }),
      choice({ content: null }, 'stop', { message: { role: 'assistant', content: null } }),
      usageChunk(20, 5),
      DONE,
    ),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
