import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textTwo: Dialect = {
  name: 'A text has two calls.',
  protocol: 'both',
  server: 'Hermes and Qwen',
  source: 'https://github.com/waybarrios/vllm-mlx/blob/main/tests/test_tool_parsers.py',
  script: textingOnce(
    '<tool_call>{"name": "web_search',
    '", "arguments": {"query": "one"',
    '}}</tool_call>\n<tool_call>{"nam',
    'e": "read_page", "arguments": {',
    '"url": "two"}}</tool_call>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }, { name: 'read_page', input: { url: 'two' } }),
};
