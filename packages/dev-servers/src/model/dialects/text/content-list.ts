import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageChunk } from '../wire.js';

export const contentList: Dialect = {
  name: 'Content is a list of parts with thoughts and text.',
  protocol: 'openai',
  server: 'Mistral with reasoning',
  source: 'https://github.com/openclaw/openclaw/pull/68418',
  script: () =>
    raw(
      choice({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] }),
      choice({ content: [{ type: 'text', text: 'Hel' }] }),
      choice({ content: 'lo.' }),
      STOP,
      usageChunk(20, 5),
      DONE,
    ),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
