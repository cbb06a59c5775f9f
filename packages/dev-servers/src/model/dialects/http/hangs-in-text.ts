import type { Dialect } from '../dialect.js';

export const hangsInText: Dialect = {
  name: 'The server stops in the text and keeps the connection open.',
  protocol: 'both',
  server: 'vLLM behind a GPU proxy',
  source: 'https://github.com/microsoft/amplifier/issues/339',
  script: () => [{ text: 'Hel' }, { hang: true }],
  silenceMs: 300,
  expected: { text: 'Hel', error: 'model_timeout', requests: 1, usage: ['estimated'] },
};
