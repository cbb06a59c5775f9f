import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const idEmpty: Dialect = {
  name: 'Later parts of a call have an empty id and an empty name.',
  protocol: 'openai',
  server: 'DashScope with GLM',
  source: 'https://github.com/anomalyco/opencode/issues/37841',
  script: (index) =>
    index > 0
      ? undefined
      : raw(
          toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{')),
          toolCalls(call({ index: 0, id: '' }, '', '"query": ')),
          toolCalls(call({ index: 0, id: '' }, '', '"one"}')),
          ...FINISHED,
        ),
  expected: {
    text: '',
    finish: 'calls',
    calls: [{ name: 'web_search', input: { query: 'one' } }],
    requests: 1,
    usage: ['reported'],
  },
};
