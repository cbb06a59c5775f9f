import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishComplete: Dialect = {
  name: 'The usual end is called COMPLETE.',
  protocol: 'both',
  server: 'Cohere',
  source: 'https://github.com/cohere-ai/cohere-python/blob/main/src/cohere/types/chat_finish_reason.py',
  script: endingOnce('COMPLETE', 'Hel', 'lo.'),
  expected: onlyText('Hello.'),
};
