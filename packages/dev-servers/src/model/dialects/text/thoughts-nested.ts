import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsNested: Dialect = {
  name: 'Thoughts are within thoughts, with attributes and in upper case.',
  protocol: 'both',
  server: 'models with reflection',
  source: 'https://github.com/nbramia/LifeOS/pull/568',
  script: textingOnce('<THINKING mode=', '"deep">\nHm.\n<re', 'flection>No.</r', 'eflection>\n</TH', 'INKING>\nHello.'),
  expected: onlyText('Hello.'),
};
