import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const windowOpenai: Dialect = {
  name: 'A prompt that is too large is refused with a code.',
  protocol: 'openai',
  server: 'OpenAI',
  source: 'https://github.com/anomalyco/opencode/pull/17763',
  script: () =>
    refuse(400, 'Your input exceeds the context window of this model.', {
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    }),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, requests: 1, usage: [] },
};
