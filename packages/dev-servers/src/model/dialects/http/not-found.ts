import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const notFound: Dialect = {
  name: 'The model or the route is not found.',
  protocol: 'both',
  server: 'Anthropic and OpenAI',
  source: 'https://docs.claude.com/en/api/errors',
  script: () => refuse(404, 'scripted'),
  expected: { text: '', error: 'model_rejected', requests: 1, usage: [] },
};
