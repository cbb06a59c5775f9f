import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textGlm: Dialect = {
  name: 'A call is text with keys and values.',
  protocol: 'both',
  server: 'GLM 4.5 to 4.7',
  source: 'https://github.com/unslothai/unsloth/blob/main/studio/backend/core/inference/tool_call_parser.py',
  script: textingOnce(
    '<tool_call>web_sea',
    'rch\n<arg_key>query',
    '</arg_key>\n<arg_va',
    'lue>one</arg_value',
    '>\n</tool_call>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
