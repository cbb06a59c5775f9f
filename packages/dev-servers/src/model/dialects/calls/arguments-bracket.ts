import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsBracket: Dialect = {
  name: 'A bracket too many ends the arguments.',
  protocol: 'both',
  server: 'vLLM, some tool parsers',
  source: 'https://github.com/vllm-project/vllm/issues/54964',
  script: calling({ name: 'web_search', arguments: '{"query": "one"}}' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
