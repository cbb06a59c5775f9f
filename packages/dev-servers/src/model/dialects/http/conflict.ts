import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const conflict: Dialect = {
  name: 'The request conflicts with another one.',
  protocol: 'both',
  server: 'OpenAI',
  source: 'https://github.com/openai/openai-node/blob/master/src/client.ts',
  script: (index) => (index === 0 ? refuse(409, 'scripted') : answer('Hello.')),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
