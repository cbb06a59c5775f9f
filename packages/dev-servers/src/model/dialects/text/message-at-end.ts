import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { choice, chunkOf, DONE, rawOnce, usageChunk } from '../wire.js';

export const messageAtEnd: Dialect = {
  name: 'The last chunk repeats the whole message.',
  protocol: 'openai',
  server: 'proxies without streaming, and older servers of Ollama',
  source: 'https://github.com/BerriAI/litellm/issues/1081',
  script: rawOnce(
    choice({ content: 'Hel' }),
    choice({ content: 'lo.' }),
    chunkOf({ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }),
    usageChunk(20, 5),
    DONE,
  ),
  expected: onlyText('Hello.'),
};
