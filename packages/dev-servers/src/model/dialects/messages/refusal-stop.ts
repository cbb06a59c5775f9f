import type { Dialect } from '../dialect.js';

export const refusalStop: Dialect = {
  name: 'A refusal ends the response with a separate stop reason.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://platform.claude.com/docs/en/api/handling-stop-reasons.md',
  script: () => [{ text: 'I ca' }, { finish: 'refused' }, { usage: { prompt: 20, completion: 5 } }],
  expected: { text: 'I ca', finish: 'refused', requests: 1, usage: ['reported'] },
};
