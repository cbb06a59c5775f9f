import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const windowVllm: Dialect = {
  name: 'A prompt that is too large is refused with a text only.',
  protocol: 'openai',
  server: 'vLLM',
  source: 'https://github.com/earendil-works/pi/pull/5929',
  script: () =>
    refuse(
      400,
      "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens.",
      { type: 'BadRequestError' },
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, requests: 1, usage: [] },
};
