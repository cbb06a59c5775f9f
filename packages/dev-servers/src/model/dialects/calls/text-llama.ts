import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textLlama: Dialect = {
  name: 'A call is an object with parameters after a token.',
  protocol: 'both',
  server: 'Llama 3.1',
  source: 'https://github.com/raullenchai/Rapid-MLX/blob/main/vllm_mlx/tool_parsers/llama_tool_parser.py',
  script: textingOnce('<|python_tag|>', '{"name": "web_', 'search", "para', 'meters": {"que', 'ry": "one"}}'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
