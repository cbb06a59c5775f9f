import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { choice, DONE, rawOnce, usageChunk } from '../wire.js';

export const functionCall: Dialect = {
  name: 'The call is in the older field function_call.',
  protocol: 'openai',
  server: 'servers of the older protocol of functions',
  source: 'https://github.com/openai/openai-python/blob/main/src/openai/types/chat/chat_completion_chunk.py',
  script: rawOnce(
    choice({ role: 'assistant', content: null, function_call: { name: 'web_search', arguments: '' } }),
    choice({ function_call: { arguments: '{"query":' } }),
    choice({ function_call: { arguments: '"one"}' } }),
    choice({}, 'function_call'),
    usageChunk(20, 5),
    DONE,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
