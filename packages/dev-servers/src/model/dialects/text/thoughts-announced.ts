import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsAnnounced: Dialect = {
  name: 'Thoughts and text are announced in words.',
  protocol: 'both',
  server: 'Granite 3.2',
  source:
    'https://github.com/vllm-project/vllm/blob/04dbd8f32c4dc8ef1254eeaabd154a225948cf57/vllm/reasoning/granite_reasoning_parser.py',
  script: textingOnce('Here is my th', 'ought process', ':\nHm.\n\nHere i', 's my response', ':\nHello.'),
  expected: onlyText('Hello.'),
};
