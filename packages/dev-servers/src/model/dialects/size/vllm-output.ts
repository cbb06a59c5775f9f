import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const vllmOutput: Dialect = {
  name: 'The text begins with the output, but the window is too small for both.',
  protocol: 'openai',
  server: 'vLLM',
  source: 'https://github.com/claude-code-best/claude-code/issues/340',
  script: () =>
    refuse(
      400,
      "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 64001 tokens and your request has 24235 input tokens (64000 > 64001 - 24235). None",
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 64001, requests: 1, usage: [] },
};
