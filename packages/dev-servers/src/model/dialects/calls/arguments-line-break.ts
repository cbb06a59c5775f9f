import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsLineBreak: Dialect = {
  name: 'An argument has a line break that is not escaped.',
  protocol: 'both',
  server: 'vLLM with the Hermes parser',
  source: 'https://github.com/vllm-project/vllm/issues/43995',
  script: calling({ name: 'web_search', arguments: '{"query": "one\ntwo"}' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one\ntwo' } }),
};
