import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { chunkOf, DONE, rawOnce, usageChunk } from '../wire.js';

export const legacyText: Dialect = {
  name: 'The text is in the field text of the older protocol.',
  protocol: 'openai',
  server: 'servers of the older completions protocol',
  source: 'https://github.com/openai/openai-python/blob/main/src/openai/types/completion_choice.py',
  script: rawOnce(
    chunkOf({ index: 0, text: 'Hel', finish_reason: null }),
    chunkOf({ index: 0, text: 'lo.', finish_reason: 'stop' }),
    usageChunk(20, 5),
    DONE,
  ),
  expected: onlyText('Hello.'),
};
