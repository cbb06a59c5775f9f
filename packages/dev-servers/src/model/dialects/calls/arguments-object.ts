import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const argumentsObject: Dialect = {
  name: 'Arguments are an object instead of a text.',
  protocol: 'openai',
  server: 'llama.cpp server',
  source: 'https://github.com/ggml-org/llama.cpp/issues/20198',
  script: rawOnce(toolCalls(call({ index: 0, id: 'a' }, 'web_search', { query: 'one' })), ...FINISHED),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
