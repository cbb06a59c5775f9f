import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const idRepeatedInStep: Dialect = {
  name: 'Two calls of a response have the same id.',
  protocol: 'openai',
  server: 'MiMo 2.5 Pro through a gateway',
  source: 'https://github.com/can1357/oh-my-pi/issues/2055',
  script: (index) =>
    index > 0
      ? undefined
      : raw(
          toolCalls(call({ index: 0, id: 'same' }, 'web_search', '{"query":"one"}')),
          toolCalls(call({ index: 1, id: 'same' }, 'web_search', '{"query":"two"}')),
          ...FINISHED,
        ),
  expected: {
    text: '',
    finish: 'calls',
    calls: [
      { name: 'web_search', input: { query: 'one' } },
      { name: 'web_search', input: { query: 'two' } },
    ],
    requests: 1,
    usage: ['reported'],
  },
};
