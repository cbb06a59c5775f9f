import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsNested: Dialect = {
  name: 'Thoughts are within thoughts, with attributes and in upper case.',
  protocol: 'both',
  server: 'models with reflection',
  source:
    'https://github.com/openclaw/openclaw/blob/5635af7cb9d1aac09cb1a3fed8afe08ae837283b/src/shared/text/reasoning-tags.ts',
  script: textingOnce('<THINKING mode=', '"deep">\nHm.\n<re', 'flection>No.</r', 'eflection>\n</TH', 'INKING>\nHello.'),
  expected: onlyText('Hello.'),
};
