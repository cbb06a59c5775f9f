import type { Dialect } from '../dialect.js';
import { ANSWER, choice, raw } from '../wire.js';

export const emptyDeltas: Dialect = {
  name: 'Chunks with an empty delta and unknown fields precede the text.',
  protocol: 'openai',
  server: 'vMLX',
  source: 'https://github.com/jjang-ai/vmlx/issues/219',
  script: () =>
    raw(
      ...Array.from({ length: 5 }, () => choice({}, null, { tool_call_generating: true })),
      choice({ role: 'assistant', content: null }),
      ...ANSWER,
    ),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
