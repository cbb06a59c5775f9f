import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const tgiInput: Dialect = {
  name: 'The limit of the prompt is a number that it must be below.',
  protocol: 'openai',
  server: 'Text Generation Inference',
  source: 'https://github.com/huggingface/text-generation-inference/blob/main/router/src/validation.rs',
  script: () => refuse(422, 'Input validation error: `inputs` must have less than 512 tokens. Given: 900'),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 512, requests: 1, usage: [] },
};
