import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textQwenCoder: Dialect = {
  name: 'A call is text in the form of XML.',
  protocol: 'both',
  server: 'Qwen3-Coder',
  source: 'https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/serve/parsers/tool_parser/qwen3coder_tool_parser.py',
  script: textingOnce(
    '<tool_call>\n<functi',
    'on=web_search>\n<par',
    'ameter=query>\none\n<',
    '/parameter>\n</funct',
    'ion>\n</tool_call>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
