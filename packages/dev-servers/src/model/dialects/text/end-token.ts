import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const endToken: Dialect = {
  name: 'A token of the template ends the text.',
  protocol: 'both',
  server: 'servers with a wrong stop token',
  source: 'https://github.com/huggingface/text-generation-inference/issues/1724',
  script: textingOnce('Hello.<', '|im_end', '|>\n'),
  expected: onlyText('Hello.'),
};
