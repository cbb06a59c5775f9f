import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const argumentsTwice: Dialect = {
  name: 'An empty object precedes the arguments.',
  protocol: 'openai',
  server: 'Bedrock through OpenAI-compatible gateways',
  source: 'https://github.com/openai/openai-agents-js/pull/712',
  script: (index) =>
    index > 0
      ? undefined
      : raw(
          toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{}')),
          toolCalls(call({ index: 0 }, undefined, '{"query":')),
          toolCalls(call({ index: 0 }, undefined, '"one"}')),
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
