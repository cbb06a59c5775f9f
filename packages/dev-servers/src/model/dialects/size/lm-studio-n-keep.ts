import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const lmStudioNKeep: Dialect = {
  name: 'The error is a text with two numbers of the server.',
  protocol: 'openai',
  server: 'LM Studio, newer',
  source: 'https://github.com/tinyhumansai/openhuman/issues/3550',
  script: () =>
    refuse(400, '', {
      body: JSON.stringify({
        error:
          'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
      }),
    }),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 4096, requests: 1, usage: [] },
};
