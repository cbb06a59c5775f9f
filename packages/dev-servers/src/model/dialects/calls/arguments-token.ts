import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsToken: Dialect = {
  name: 'A special token follows the arguments.',
  protocol: 'both',
  server: 'llama.cpp and MLX servers',
  source: 'https://github.com/vllm-project/vllm/pull/35906',
  script: calling({ name: 'web_search', arguments: '{"query": "one"}<|call|>' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
