import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { ending } from '../wire.js';

export const finishMaxLength: Dialect = {
  name: 'The output limit is called max_len.',
  protocol: 'both',
  server: 'gateways in front of the gRPC interface of xAI',
  source: 'https://github.com/xai-org/xai-proto/blob/main/proto/xai/api/v1/sample.proto',
  script: ending('max_len', 'Half an ', 'ans'),
  expected: { ...onlyText('Half an ans'), finish: 'length' },
};
