import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { ending } from '../wire.js';

export const finishMaxLength: Dialect = {
  name: 'The output limit is called max_length.',
  protocol: 'both',
  server: 'xAI',
  source: 'https://docs.x.ai/docs/api-reference',
  script: ending('max_len', 'Half an ', 'ans'),
  expected: { ...onlyText('Half an ans'), finish: 'length' },
};
