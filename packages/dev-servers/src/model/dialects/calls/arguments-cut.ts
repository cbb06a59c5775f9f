import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const argumentsCut: Dialect = {
  name: 'The output limit cuts the arguments, and the finish reason hides it.',
  protocol: 'openai',
  server: 'vLLM',
  source: 'https://github.com/vllm-project/vllm/pull/47963',
  script: rawOnce(toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query":"on')), ...FINISHED),
  expected: onlyCalls({ name: 'web_search', input: undefined }),
};
