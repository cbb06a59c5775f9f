import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const limitedSeconds: Dialect = {
  name: 'A limit asks to wait for seconds.',
  protocol: 'both',
  server: 'Azure OpenAI',
  source: 'https://github.com/openai/openai-node/issues/1108',
  script: (index) =>
    index < 2 ? refuse(429, 'Please retry after 33 seconds.', { headers: { 'retry-after': '33' } }) : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 3, usage: ['reported'], waits: [33_000, 33_000] },
};
