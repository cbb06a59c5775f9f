import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textLlama: Dialect = {
  name: 'A call is an object with parameters after a token.',
  protocol: 'both',
  server: 'Llama 3',
  source: 'https://github.com/sgl-project/sglang/pull/10995',
  script: textingOnce('<|python_tag|>', '{"name": "web_', 'search", "para', 'meters": {"que', 'ry": "one"}}'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
