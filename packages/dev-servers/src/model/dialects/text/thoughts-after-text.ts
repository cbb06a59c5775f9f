import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsAfterText: Dialect = {
  name: 'Thoughts follow the beginning of the text.',
  protocol: 'both',
  server: 'GLM and MiniMax',
  source: 'https://github.com/vllm-project/vllm-ascend/issues/12398',
  script: textingOnce('Hello.\n', '<think>', 'Hm.</th', 'ink>\nBy', 'e.'),
  expected: onlyText('Hello.\nBye.'),
};
