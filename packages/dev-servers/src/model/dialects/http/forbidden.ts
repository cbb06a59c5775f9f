import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const forbidden: Dialect = {
  name: 'The key has no permission.',
  protocol: 'both',
  server: 'Anthropic and OpenAI',
  source: 'https://docs.claude.com/en/api/errors',
  script: () => refuse(403, 'scripted'),
  expected: { text: '', error: 'model_rejected', requests: 1, usage: [] },
};
