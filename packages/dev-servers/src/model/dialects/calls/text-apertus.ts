import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textApertus: Dialect = {
  name: 'A call in a text has the name of its tool as its key.',
  protocol: 'both',
  server: 'Apertus on MLX',
  source: 'https://github.com/ml-explore/mlx-lm/pull/1663',
  script: textingOnce(
    '<|inner_prefix|>Hm.<|inner_suffix|><|tools_pre',
    'fix|>[{"web_search": {"query": "one"}}]<|tools_suffix|>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
