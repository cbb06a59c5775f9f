import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

const WAIT_MS = 60_000;

export const limitedDate: Dialect = {
  name: 'A limit asks to wait until a date.',
  protocol: 'both',
  server: 'any server behind a gateway',
  source: 'https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3',
  script: (index) =>
    index === 0
      ? refuse(429, 'Please retry later.', { headers: { 'retry-after': new Date(Date.now() + WAIT_MS).toUTCString() } })
      : answer('Hello.'),
  expected: {
    text: 'Hello.',
    finish: 'answered',
    requests: 2,
    usage: ['reported'],
    waits: [WAIT_MS],
    waitsWithinMs: 10_000,
  },
};
