import type { Dialect } from '../dialect.js';

export const hangsBeforeHead: Dialect = {
  name: 'The server accepts a request and never responds.',
  protocol: 'both',
  server: 'upstreams of LiteLLM',
  source: 'https://github.com/BerriAI/litellm/issues/38358',
  script: () => [{ hang: true }],
  silenceMs: 300,
  expected: { text: '', error: 'model_timeout', requests: 1, usage: ['estimated'] },
};
