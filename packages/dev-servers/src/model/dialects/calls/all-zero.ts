import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const allZero: Dialect = {
  name: 'All parallel calls have the index 0.',
  protocol: 'openai',
  server: 'Ollama',
  source: 'https://github.com/ollama/ollama/issues/15457',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query":"one"}')),
    toolCalls(call({ index: 0, id: 'b' }, 'web_search', '{"query":"two"}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }, { name: 'web_search', input: { query: 'two' } }),
};
