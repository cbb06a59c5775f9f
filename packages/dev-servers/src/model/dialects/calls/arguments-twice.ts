import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const argumentsTwice: Dialect = {
  name: 'An empty object precedes the arguments.',
  protocol: 'openai',
  server: 'Bedrock through OpenAI-compatible gateways',
  source: 'https://github.com/openai/openai-agents-js/pull/712',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{}')),
    toolCalls(call({ index: 0 }, undefined, '{"query":')),
    toolCalls(call({ index: 0 }, undefined, '"one"}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
