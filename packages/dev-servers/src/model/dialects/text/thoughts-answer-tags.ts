import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsAnswerTags: Dialect = {
  name: 'The text after the thoughts is between tags.',
  protocol: 'both',
  server: 'ERNIE and Hunyuan',
  source: 'https://huggingface.co/tencent/Hunyuan-A13B-Instruct',
  script: textingOnce('<think>\nHm', '.\n</think>', '\n<answer>\n', 'Hello.\n</a', 'nswer>'),
  expected: onlyText('Hello.'),
};
