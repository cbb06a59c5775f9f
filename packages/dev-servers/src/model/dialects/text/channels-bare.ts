import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const channelsBare: Dialect = {
  name: 'The text has the channels of the template without its tokens.',
  protocol: 'both',
  server: 'gpt-oss behind servers that remove special tokens',
  source: 'https://github.com/oobabooga/textgen/issues/7374',
  script: textingOnce('analysis', 'We greet', '.assista', 'ntfinalH', 'ello.'),
  expected: onlyText('Hello.'),
};
