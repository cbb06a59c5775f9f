import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, DONE, rawOnce, STOP, toolCalls, usageChunk } from '../wire.js';

export const finishStop: Dialect = {
  name: 'The finish reason of a response with calls is stop.',
  protocol: 'openai',
  server: 'Ollama and GPT-4o',
  source: 'https://github.com/ollama/ollama/pull/7963',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query":"one"}')),
    STOP,
    usageChunk(20, 5),
    DONE,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
