import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const moderation: Dialect = {
  name: 'A moderation flags the prompt.',
  protocol: 'both',
  server: 'OpenRouter',
  source: 'https://openrouter.ai/docs/api-reference/errors',
  script: () =>
    refuse(403, '', {
      body: '{"error":{"code":403,"message":"flagged","metadata":{"reasons":["violence"],"flagged_input":"a knife"}}}',
    }),
  expected: { text: '', error: 'model_refused', requests: 1, usage: [] },
};
