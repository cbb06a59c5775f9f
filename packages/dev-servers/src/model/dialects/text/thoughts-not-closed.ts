import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsNotClosed: Dialect = {
  name: 'Thoughts at the end of the text do not end.',
  protocol: 'both',
  server: 'Qwen 3 behind OpenAI-compatible gateways',
  source: 'https://github.com/QwenLM/qwen-code/pull/9607',
  script: textingOnce('Hello.\n', '\n<think', '>\nHm.'),
  expected: onlyText('Hello.'),
};
