import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const requestTimeout: Dialect = {
  name: 'The request takes too long.',
  protocol: 'both',
  server: 'OpenRouter',
  source: 'https://openrouter.ai/docs/api-reference/errors',
  script: (index) => (index === 0 ? refuse(408, 'scripted') : answer('Hello.')),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
