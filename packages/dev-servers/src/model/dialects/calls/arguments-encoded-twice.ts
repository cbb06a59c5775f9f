import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsEncodedTwice: Dialect = {
  name: 'The arguments are JSON text that holds JSON text.',
  protocol: 'both',
  server: 'vLLM with Granite 4, and Amazon Nova Sonic',
  source: 'https://github.com/vllm-project/vllm/pull/54964',
  script: calling({ name: 'web_search', arguments: JSON.stringify('{"query":"one"}') }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
