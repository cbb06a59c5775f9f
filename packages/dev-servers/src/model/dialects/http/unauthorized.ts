import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const unauthorized: Dialect = {
  name: 'The key is wrong.',
  protocol: 'both',
  server: 'Anthropic and OpenAI',
  source: 'https://docs.claude.com/en/api/errors',
  script: () => refuse(401, 'invalid x-api-key'),
  expected: { text: '', error: 'model_rejected', requests: 1, usage: [] },
};
