import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const nameToken: Dialect = {
  name: 'A special token follows the name of a call.',
  protocol: 'both',
  server: 'gpt-oss behind vLLM',
  source: 'https://github.com/vllm-project/vllm/issues/32587',
  script: calling({ name: 'web_search<|channel|>commentary', arguments: { query: 'one' } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
