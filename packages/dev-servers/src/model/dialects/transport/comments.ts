import type { Dialect } from '../dialect.js';
import { ANSWER, raw } from '../wire.js';

export const comments: Dialect = {
  name: 'Comments precede the text for longer than the limit of silence.',
  protocol: 'openai',
  server: 'OpenRouter',
  source: 'https://openrouter.ai/docs/api-reference/streaming',
  script: () => [
    ...Array.from({ length: 24 }, () => [{ raw: ': OPENROUTER PROCESSING\n\n' }, { delayMs: 50 }]).flat(),
    ...raw(...ANSWER),
  ],
  silenceMs: 1_000,
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
