import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const limitedNoHeader: Dialect = {
  name: 'A limit does not name a wait.',
  protocol: 'both',
  server: 'Azure OpenAI',
  source: 'https://github.com/openai/openai-dotnet/issues/838',
  script: (index) => (index < 3 ? refuse(429, 'Rate limit reached.') : answer('Hello.')),
  expected: { text: 'Hello.', finish: 'answered', requests: 4, usage: ['reported'] },
};
