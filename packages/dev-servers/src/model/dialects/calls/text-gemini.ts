import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textGemini: Dialect = {
  name: 'A call is code in a fence.',
  protocol: 'both',
  server: 'Gemma and Gemini',
  source: 'https://github.com/waybarrios/vllm-mlx/blob/main/vllm_mlx/tool_parsers/gemma4_tool_parser.py',
  script: textingOnce('```tool_code', '\nprint(defau', 'lt_api.web_s', 'earch(query=', '"one"))\n```'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
