import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { chunkOf, DONE, rawOnce, usageChunk } from '../wire.js';

export const alternatives: Dialect = {
  name: 'Chunks have several choices, which are alternatives.',
  protocol: 'openai',
  server: 'servers with the parameter n',
  source: 'https://github.com/openai/openai-python/blob/main/src/openai/types/chat/completion_create_params.py',
  script: rawOnce(
    chunkOf(
      { index: 0, delta: { content: 'Hel' }, finish_reason: null },
      { index: 1, delta: { content: 'Good ' }, finish_reason: null },
    ),
    chunkOf({ index: 1, delta: { content: 'day.' }, finish_reason: 'stop' }),
    chunkOf({ index: 0, delta: { content: 'lo.' }, finish_reason: 'stop' }),
    usageChunk(20, 5),
    DONE,
  ),
  expected: onlyText('Hello.'),
};
