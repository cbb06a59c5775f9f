import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsAnnounced: Dialect = {
  name: 'Thoughts and text are announced in words.',
  protocol: 'both',
  server: 'Granite 3.2',
  source: 'https://docs.vllm.ai/en/latest/features/reasoning_outputs.html',
  script: textingOnce('Here is my th', 'ought process', ':\nHm.\n\nHere i', 's my response', ':\nHello.'),
  expected: onlyText('Hello.'),
};
