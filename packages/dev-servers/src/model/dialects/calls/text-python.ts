import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textPython: Dialect = {
  name: 'A call is text in the form of Python.',
  protocol: 'both',
  server: 'LFM2.5',
  source: 'https://github.com/ml-explore/mlx-lm/issues/1785',
  script: textingOnce('<|tool_call_s', 'tart|>[web_se', "arch(query='o", "ne')]<|tool_c", 'all_end|>'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
