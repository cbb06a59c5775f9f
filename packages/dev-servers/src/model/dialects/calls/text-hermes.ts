import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textHermes: Dialect = {
  name: 'A call is text between tags.',
  protocol: 'both',
  server: 'Qwen and Hermes behind servers without a tool parser',
  source: 'https://github.com/unslothai/unsloth/blob/main/studio/backend/core/inference/tool_call_parser.py',
  script: textingOnce(
    '<tool_call>\n{"na',
    'me": "web_search',
    '", "arguments": ',
    '{"query": "one"}',
    '}\n</tool_call>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
