import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textKimiNewer: Dialect = {
  name: 'A call is text whose tags are tokens.',
  protocol: 'both',
  server: 'Kimi K3 behind servers that remove separators',
  source: 'https://github.com/mlc-ai/xgrammar/blob/main/python/xgrammar/builtin_structural_tag.py',
  script: textingOnce(
    '<|open|>toolscall tool="web_se',
    'arch" index="1"<|sep|><|open|>',
    'argument key="query" type="str',
    'ing"<|sep|>one<|close|>argumen',
    't<|sep|><|close|>call<|sep|>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
