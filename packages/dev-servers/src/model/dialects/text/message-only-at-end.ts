import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { choice, chunkOf, DONE, rawOnce, usageChunk } from '../wire.js';

export const messageOnlyAtEnd: Dialect = {
  name: 'Empty deltas precede a last chunk with the whole message.',
  protocol: 'openai',
  server: 'proxies without streaming',
  source: 'https://github.com/BerriAI/litellm/issues/1081',
  script: rawOnce(
    choice({ role: 'assistant', content: '' }),
    chunkOf({ index: 0, delta: {}, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }),
    usageChunk(20, 5),
    DONE,
  ),
  expected: onlyText('Hello.'),
};
