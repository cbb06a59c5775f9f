import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textDsml: Dialect = {
  name: 'A call is text in the form of XML with tokens.',
  protocol: 'both',
  server: 'DeepSeek V3.2',
  source: 'https://github.com/ml-explore/mlx-lm/blob/main/mlx_lm/chat_templates/deepseek_v32.py',
  script: textingOnce(
    '<｜DSML｜function_calls><｜DSML｜inv',
    'oke name="web_search"><｜DSML｜par',
    'ameter name="query" string="true',
    '">one</｜DSML｜parameter></｜DSML｜i',
    'nvoke></｜DSML｜function_calls>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
