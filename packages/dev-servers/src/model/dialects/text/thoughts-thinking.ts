import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsThinking: Dialect = {
  name: 'Thoughts are between other tags.',
  protocol: 'both',
  server: 'gateways in front of hybrid models',
  source: 'https://github.com/QwenLM/qwen-code/issues/10791',
  script: textingOnce('<thinki', 'ng>\nHm.', '\n</thin', 'king>\n\n', 'Hello.'),
  expected: onlyText('Hello.'),
};
