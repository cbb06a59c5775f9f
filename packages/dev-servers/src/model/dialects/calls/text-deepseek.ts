import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textDeepseek: Dialect = {
  name: 'A call is text between tokens.',
  protocol: 'both',
  server: 'DeepSeek R1 and V3',
  source: 'https://github.com/unslothai/unsloth/blob/main/studio/backend/core/inference/tool_call_parser.py',
  script: textingOnce(
    '<｜tool▁calls▁begin｜><｜tool▁',
    'call▁begin｜>function<｜tool▁',
    'sep｜>web_search\n```json\n{"q',
    'uery": "one"}\n```<｜tool▁cal',
    'l▁end｜><｜tool▁calls▁end｜>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
