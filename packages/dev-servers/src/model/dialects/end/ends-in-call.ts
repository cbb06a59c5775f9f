import type { Dialect } from '../dialect.js';
import { ANSWER, call, raw, toolCalls } from '../wire.js';

export const endsInCall: Dialect = {
  name: 'The stream ends in the arguments of a call.',
  protocol: 'openai',
  server: 'any server behind a proxy',
  source: 'https://github.com/can1357/oh-my-pi/issues/9433',
  script: (index) => raw(...(index === 0 ? [toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"quer'))] : ANSWER)),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated', 'reported'] },
};
