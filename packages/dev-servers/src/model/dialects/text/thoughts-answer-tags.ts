import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsAnswerTags: Dialect = {
  name: 'The text after the thoughts is between tags.',
  protocol: 'both',
  server: 'Hunyuan A13B',
  source:
    'https://github.com/vllm-project/vllm/blob/0011c7437d0d4c2eec6fd88449a9134bd35c0efa/vllm/reasoning/hunyuan_a13b_reasoning_parser.py',
  script: textingOnce('<think>\nHm', '.\n</think>', '\n<answer>\n', 'Hello.\n</a', 'nswer>'),
  expected: onlyText('Hello.'),
};
