import type { Dialect } from '../dialect.js';

export const pauseTurn: Dialect = {
  name: 'A turn is paused after its text.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://platform.claude.com/docs/en/api/handling-stop-reasons.md',
  script: () => [{ text: 'Hello.' }, { finish: 'paused' }, { usage: { prompt: 20, completion: 5 } }],
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
