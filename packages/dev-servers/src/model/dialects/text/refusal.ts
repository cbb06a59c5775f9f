import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageChunk } from '../wire.js';

export const refusal: Dialect = {
  name: 'A refusal has a separate field, and the content is null.',
  protocol: 'openai',
  server: 'OpenAI',
  source: 'https://github.com/openclaw/openclaw/pull/102334',
  script: () =>
    raw(
      choice({ role: 'assistant', content: null, refusal: '' }),
      choice({ refusal: 'I cannot ' }),
      choice({ refusal: 'help with that.' }),
      STOP,
      usageChunk(20, 5),
      DONE,
    ),
  expected: { text: 'I cannot help with that.', finish: 'refused', requests: 1, usage: ['reported'] },
};
