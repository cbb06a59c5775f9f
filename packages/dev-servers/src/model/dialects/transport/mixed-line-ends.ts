import type { Dialect } from '../dialect.js';
import { ANSWER, raw } from '../wire.js';

export const mixedLineEnds: Dialect = {
  name: 'Line ends are mixed.',
  protocol: 'openai',
  server: 'OpenAI-compatible servers of the OpenAI SDK',
  source: 'https://github.com/openai/openai-node/pull/2309',
  script: () => raw(...ANSWER.map((chunk, index) => chunk.replace('\n\n', index % 2 === 0 ? '\r\n\n' : '\n\r\n'))),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
