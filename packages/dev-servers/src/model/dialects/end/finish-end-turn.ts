import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishEndTurn: Dialect = {
  name: 'The finish reason is the one of the other protocol.',
  protocol: 'both',
  server: 'gateways that translate protocols',
  source: 'https://github.com/BerriAI/litellm/pull/37710',
  script: endingOnce('end_turn', 'Hel', 'lo.'),
  expected: onlyText('Hello.'),
};
