import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const idNumeric: Dialect = {
  name: 'The id of a call is a number.',
  protocol: 'openai',
  server: 'NVIDIA NIM with Kimi K2.5',
  source: 'https://github.com/anomalyco/opencode/issues/19947',
  script: rawOnce(toolCalls(call({ index: 0, id: 123 }, 'web_search', '{"query":"one"}')), ...FINISHED),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
