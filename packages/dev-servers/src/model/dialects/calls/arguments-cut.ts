import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const argumentsCut: Dialect = {
  name: 'The output limit cuts the arguments, and the finish reason hides it.',
  protocol: 'openai',
  server: 'vLLM',
  source: 'https://github.com/vllm-project/vllm/pull/47963',
  script: (index) =>
    index > 0 ? undefined : raw(toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query":"on')), ...FINISHED),
  expected: {
    text: '',
    finish: 'calls',
    calls: [{ name: 'web_search', input: undefined }],
    requests: 1,
    usage: ['reported'],
  },
};
