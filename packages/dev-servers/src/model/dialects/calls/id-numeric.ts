import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const idNumeric: Dialect = {
  name: 'The id of a call is a number.',
  protocol: 'openai',
  server: 'NVIDIA NIM with Kimi K2.5',
  source: 'https://github.com/anomalyco/opencode/issues/19947',
  script: (index) =>
    index > 0 ? undefined : raw(toolCalls(call({ index: 0, id: 123 }, 'web_search', '{"query":"one"}')), ...FINISHED),
  expected: {
    text: '',
    finish: 'calls',
    calls: [{ name: 'web_search', input: { query: 'one' } }],
    requests: 1,
    usage: ['reported'],
  },
};
