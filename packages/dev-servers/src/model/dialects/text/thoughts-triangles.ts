import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsTriangles: Dialect = {
  name: 'Thoughts are between triangles.',
  protocol: 'both',
  server: 'Kimi-VL',
  source: 'https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/data/template.py',
  script: textingOnce('◁think▷', 'Hm.◁/th', 'ink▷Hel', 'lo.'),
  expected: onlyText('Hello.'),
};
