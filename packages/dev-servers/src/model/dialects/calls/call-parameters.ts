import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { FINISHED, rawOnce, toolCalls } from '../wire.js';

export const callParameters: Dialect = {
  name: 'The arguments of a call are called parameters.',
  protocol: 'openai',
  server: 'servers that pass on the calls of Llama models',
  source: 'https://github.com/tinyhumansai/tinyagents/blob/main/src/harness/tool_calling/parse.rs',
  script: rawOnce(
    toolCalls({ index: 0, id: 'a', type: 'function', function: { name: 'web_search', parameters: { query: 'one' } } }),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
