import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishEndTurn: Dialect = {
  name: 'The finish reason is the one of the other protocol.',
  protocol: 'both',
  server: 'Bedrock Access Gateway',
  source: 'https://github.com/aws-samples/bedrock-access-gateway/issues/11',
  script: endingOnce('end_turn', 'Hel', 'lo.'),
  expected: onlyText('Hello.'),
};
