import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const windowLlama: Dialect = {
  name: 'A prompt that is too large is refused with status 500.',
  protocol: 'openai',
  server: 'llama.cpp server',
  source: 'https://github.com/ggml-org/llama.cpp/pull/15780',
  script: () =>
    refuse(
      500,
      'the request exceeds the available context size. try increasing the context size or enable context shift',
      {
        type: 'exceed_context_size_error',
      },
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, requests: 1, usage: [] },
};
