import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const overloadedStatus: Dialect = {
  name: 'An overload has the status 529 and asks to wait.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://learn.microsoft.com/es-es/microsoft-cloud/dev/dev-proxy/concepts/anthropic-529-overloaded-error',
  script: (index) => (index === 0 ? refuse(529, 'Overloaded', { headers: { 'retry-after': '7' } }) : answer('Hello.')),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'], waits: [7_000] },
};
