import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsSeed: Dialect = {
  name: 'The tags of thoughts have a prefix.',
  protocol: 'both',
  server: 'Seed-OSS',
  source:
    'https://github.com/vllm-project/vllm/blob/0f120751344c09af442c1800020908d2b7ff71f2/tests/tool_parsers/test_seed_oss_tool_parser.py',
  script: textingOnce(
    '<seed:think>Hm.<seed',
    ':cot_budget_reflect>',
    'Few tokens.</seed:co',
    't_budget_reflect></s',
    'eed:think>Hello.',
  ),
  expected: onlyText('Hello.'),
};
