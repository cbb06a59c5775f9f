import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { FINISHED, rawOnce, toolCalls } from '../wire.js';

export const callParameters: Dialect = {
  name: 'The arguments of a call are called parameters.',
  protocol: 'openai',
  server: 'servers with Llama models',
  source: 'https://github.com/vllm-project/vllm/issues/54964',
  script: rawOnce(
    toolCalls({ index: 0, id: 'a', type: 'function', function: { name: 'web_search', parameters: { query: 'one' } } }),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
