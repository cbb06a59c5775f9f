import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const idEmpty: Dialect = {
  name: 'Later parts of a call have an empty id and an empty name.',
  protocol: 'openai',
  server: 'DashScope with GLM',
  source: 'https://github.com/anomalyco/opencode/issues/37841',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{')),
    toolCalls(call({ index: 0, id: '' }, '', '"query": ')),
    toolCalls(call({ index: 0, id: '' }, '', '"one"}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
