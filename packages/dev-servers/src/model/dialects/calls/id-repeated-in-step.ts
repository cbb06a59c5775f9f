import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const idRepeatedInStep: Dialect = {
  name: 'Two calls of a response have the same id.',
  protocol: 'openai',
  server: 'MiMo 2.5 Pro through a gateway',
  source: 'https://github.com/can1357/oh-my-pi/issues/2055',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'same' }, 'web_search', '{"query":"one"}')),
    toolCalls(call({ index: 1, id: 'same' }, 'web_search', '{"query":"two"}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }, { name: 'web_search', input: { query: 'two' } }),
};
