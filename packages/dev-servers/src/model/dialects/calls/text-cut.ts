import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textCut: Dialect = {
  name: 'A call is text that is cut.',
  protocol: 'both',
  server: 'servers without a tool parser',
  source: 'https://github.com/unslothai/unsloth/blob/main/studio/backend/core/inference/tool_call_parser.py',
  script: textingOnce('<tool_call>\n{', '"name": "web_', 'search", "arg', 'uments": {"qu', 'ery": "on'),
  expected: onlyCalls({ name: 'web_search', input: undefined }),
};
