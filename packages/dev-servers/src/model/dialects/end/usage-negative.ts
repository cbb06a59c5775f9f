import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageChunk } from '../wire.js';

export const usageNegative: Dialect = {
  name: 'A count of tokens is negative.',
  protocol: 'openai',
  server: 'OpenAI with o3',
  source: 'https://github.com/64bit/async-openai/issues/404',
  script: () => raw(choice({ content: 'Hello.' }), STOP, usageChunk(1_151, -35), DONE),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
