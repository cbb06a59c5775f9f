import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishComplete: Dialect = {
  name: 'The usual end is called COMPLETE.',
  protocol: 'both',
  server: 'Cohere',
  source: 'https://docs.cohere.com/reference/chat',
  script: endingOnce('COMPLETE', 'Hel', 'lo.'),
  expected: onlyText('Hello.'),
};
