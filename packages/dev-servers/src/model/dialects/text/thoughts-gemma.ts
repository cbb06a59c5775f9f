import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsGemma: Dialect = {
  name: 'Thoughts are in a channel with one token at each end.',
  protocol: 'both',
  server: 'Gemma 4',
  source:
    'https://github.com/vllm-project/vllm/blob/109eefd646368f8aa282b251a815c04fd5922975/vllm/reasoning/gemma4_reasoning_parser.py',
  script: textingOnce('<|channe', 'l>though', 't\nHm.<ch', 'annel|>H', 'ello.'),
  expected: onlyText('Hello.'),
};
