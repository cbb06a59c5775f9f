import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const llamaFields: Dialect = {
  name: 'The window is in a field of the error.',
  protocol: 'openai',
  server: 'llama.cpp server',
  source: 'https://github.com/oobabooga/textgen/issues/7257',
  script: () =>
    refuse(400, '', {
      body: JSON.stringify({
        error: {
          code: 400,
          message:
            'the request exceeds the available context size. try increasing the context size or enable context shift',
          type: 'exceed_context_size_error',
          n_prompt_tokens: 14_429,
          n_ctx: 8_192,
        },
      }),
    }),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 8192, requests: 1, usage: [] },
};
