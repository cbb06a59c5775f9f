import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const tgiTotal: Dialect = {
  name: 'Prompt and output together exceed the window, with status 422.',
  protocol: 'openai',
  server: 'Text Generation Inference',
  source: 'https://github.com/huggingface/text-generation-inference/blob/main/router/src/validation.rs',
  script: () =>
    refuse(
      422,
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32768. Given: 82004 `inputs` tokens and 2048 `max_new_tokens`',
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 32768, requests: 1, usage: [] },
};
