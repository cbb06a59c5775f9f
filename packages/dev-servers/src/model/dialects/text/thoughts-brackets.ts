import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsBrackets: Dialect = {
  name: 'Thoughts are between words in brackets.',
  protocol: 'both',
  server: 'Magistral and Ministral',
  source: 'https://github.com/ollama/ollama/blob/main/model/parsers/ministral.go',
  script: textingOnce('[THINK]', 'Hm.[/TH', 'INK]Hel', 'lo.'),
  expected: onlyText('Hello.'),
};
