import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const argumentsNull: Dialect = {
  name: 'The first part of a call has arguments that are null.',
  protocol: 'openai',
  server: 'DeepSeek on DeepInfra',
  source: 'https://github.com/open-webui/open-webui/issues/27195',
  script: (index) =>
    index > 0
      ? undefined
      : raw(
          toolCalls(call({ index: 0, id: 'a' }, 'web_search', null)),
          toolCalls(call({ index: 0 }, undefined, '{"query":"one"}')),
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
