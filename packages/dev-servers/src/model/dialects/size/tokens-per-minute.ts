import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const tokensPerMinute: Dialect = {
  name: 'A limit of tokens per minute has the words of an overflow, but only asks to wait.',
  protocol: 'both',
  server: 'Groq',
  source: 'https://github.com/elizaOS/eliza/issues/4040',
  script: (index) =>
    index === 0
      ? refuse(
          429,
          'Rate limit reached for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s.',
          { headers: { 'retry-after': '5' } },
        )
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'], waits: [5_000] },
};
