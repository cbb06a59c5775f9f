import type { Dialect } from '../dialect.js';

export const maxTokens: Dialect = {
  name: 'The output limit cuts the text.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://platform.claude.com/docs/en/api/handling-stop-reasons.md',
  script: () => [{ text: 'Hel' }, { finish: 'length' }, { usage: { prompt: 20, completion: 5 } }],
  expected: { text: 'Hel', finish: 'length', requests: 1, usage: ['reported'] },
};
