import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const channels: Dialect = {
  name: 'The text has the channels of the template.',
  protocol: 'both',
  server: 'gpt-oss behind servers without a parser',
  source: 'https://github.com/kekzl/imp/pull/768',
  script: textingOnce(
    '<|channel|>analysis<|',
    'message|>Hm.<|end|><|',
    'start|>assistant<|cha',
    'nnel|>final<|message|',
    '>Hello.<|return|>',
  ),
  expected: onlyText('Hello.'),
};
