import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsCommand: Dialect = {
  name: 'Thoughts and text are between tokens.',
  protocol: 'both',
  server: 'Command A Reasoning',
  source:
    'https://github.com/vllm-project/vllm/blob/01e4fce07423dafcc832600ba05159fb28dc1126/vllm/reasoning/cohere_command_reasoning_parser.py',
  script: textingOnce('<|START_THINKING', '|>Hm.<|END_THINK', 'ING|><|START_RES', 'PONSE|>Hello.<|E', 'ND_RESPONSE|>'),
  expected: onlyText('Hello.'),
};
