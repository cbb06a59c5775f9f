import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const argumentsInvalid: Dialect = {
  name: 'Arguments are not JSON, and the server rejects them in the next request.',
  protocol: 'openai',
  server: 'vLLM',
  source: 'https://github.com/vllm-project/vllm/issues/43995',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query": the word "hello" twice, ""}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: undefined }),
};
