import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const argumentsInvalid: Dialect = {
  name: 'Arguments are not JSON, and the server rejects them in the next request.',
  protocol: 'openai',
  server: 'vLLM',
  source: 'https://github.com/vllm-project/vllm/issues/43995',
  script: (index) =>
    index > 0
      ? undefined
      : raw(toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query": "the word "hello"",}')), ...FINISHED),
  expected: {
    text: '',
    finish: 'calls',
    calls: [{ name: 'web_search', input: undefined }],
    requests: 1,
    usage: ['reported'],
  },
};
