import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsSeed: Dialect = {
  name: 'The tags of thoughts have a prefix.',
  protocol: 'both',
  server: 'Seed-OSS',
  source: 'https://huggingface.co/ByteDance-Seed/Seed-OSS-36B-Instruct',
  script: textingOnce(
    '<seed:think>Hm.<seed',
    ':cot_budget_reflect>',
    'Few tokens.</seed:co',
    't_budget_reflect></s',
    'eed:think>Hello.',
  ),
  expected: onlyText('Hello.'),
};
