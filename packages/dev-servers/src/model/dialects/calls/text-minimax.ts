import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textMinimax: Dialect = {
  name: 'A call is text in the form of Claude with a prefix.',
  protocol: 'both',
  server: 'MiniMax-M2',
  source: 'https://github.com/raullenchai/Rapid-MLX/blob/main/vllm_mlx/tool_parsers/minimax_tool_parser.py',
  script: textingOnce(
    '<minimax:tool_call>\n<inv',
    'oke name="web_search">\n<',
    'parameter name="query">o',
    'ne</parameter>\n</invoke>',
    '\n</minimax:tool_call>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
