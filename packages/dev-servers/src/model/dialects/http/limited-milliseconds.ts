import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const limitedMilliseconds: Dialect = {
  name: 'A limit asks to wait for milliseconds.',
  protocol: 'openai',
  server: 'OpenAI and Azure OpenAI',
  source: 'https://github.com/openai/openai-node/blob/master/src/client.ts',
  script: (index) =>
    index === 0
      ? refuse(429, 'Slow down.', { headers: { 'retry-after-ms': '1500', 'retry-after': '2' } })
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'], waits: [1_500] },
};
