import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textJson: Dialect = {
  name: 'An object is the JSON that the user asked for.',
  protocol: 'both',
  server: 'any model',
  source: 'https://github.com/ahwurm/localharness/issues/105',
  script: textingOnce('```json\n', '{"name":', ' "John",', ' "age": ', '30}\n```'),
  expected: onlyText('```json\n{"name": "John", "age": 30}\n```'),
};
