import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const argumentsObject: Dialect = {
  name: 'Arguments are an object instead of a text.',
  protocol: 'openai',
  server: 'llama.cpp server',
  source: 'https://github.com/ggml-org/llama.cpp/issues/20198',
  script: (index) =>
    index > 0 ? undefined : raw(toolCalls(call({ index: 0, id: 'a' }, 'web_search', { query: 'one' })), ...FINISHED),
  expected: {
    text: '',
    finish: 'calls',
    calls: [{ name: 'web_search', input: { query: 'one' } }],
    requests: 1,
    usage: ['reported'],
  },
};
