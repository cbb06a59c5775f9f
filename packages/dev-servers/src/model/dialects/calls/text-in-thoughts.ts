import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textInThoughts: Dialect = {
  name: 'A call is in thoughts that do not end.',
  protocol: 'both',
  server: 'Qwen3.5-Flash',
  source: 'https://github.com/OpenHands/software-agent-sdk/pull/2512',
  script: textingOnce(
    '<think>\nI search.\n<t',
    'ool_call>\n{"name": "',
    'web_search", "argume',
    'nts": {"query": "one',
    '"}}\n</tool_call>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
