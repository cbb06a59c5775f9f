import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const idRepeatedAcrossSteps: Dialect = {
  name: 'Calls of two steps have the same id.',
  protocol: 'openai',
  server: 'Kimi through a gateway',
  source: 'https://github.com/NousResearch/hermes-agent/issues/102629',
  script: (index) =>
    index > 1
      ? undefined
      : raw(toolCalls(call({ index: 0, id: 'terminal:0' }, 'web_search', `{"query":"step ${index}"}`)), ...FINISHED),
  expected: onlyCalls(
    { name: 'web_search', input: { query: 'step 0' } },
    { name: 'web_search', input: { query: 'step 1' } },
  ),
};
