import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsBrackets: Dialect = {
  name: 'Thoughts are between words in brackets.',
  protocol: 'both',
  server: 'Magistral',
  source: 'https://docs.vllm.ai/en/latest/features/reasoning_outputs.html',
  script: textingOnce('[THINK]', 'Hm.[/TH', 'INK]Hel', 'lo.'),
  expected: onlyText('Hello.'),
};
