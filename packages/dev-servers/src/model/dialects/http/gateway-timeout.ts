import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const gatewayTimeout: Dialect = {
  name: 'The request takes too long for the proxy.',
  protocol: 'both',
  server: 'Anthropic',
  source: 'https://docs.claude.com/en/api/errors',
  script: (index) => (index === 0 ? refuse(504, 'scripted') : answer('Hello.')),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
