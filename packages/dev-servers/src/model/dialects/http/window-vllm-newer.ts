import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const windowVllmNewer: Dialect = {
  name: 'The text of the refusal for size changed with a release.',
  protocol: 'openai',
  server: 'vLLM 0.16',
  source: 'https://github.com/harbor-framework/harbor/pull/996',
  script: () =>
    refuse(
      400,
      "You passed 1015 input tokens and requested 10 output tokens. However, the model's context length is only 1024 tokens, resulting in a maximum input length of 1014 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=1015)",
      { type: 'BadRequestError' },
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, requests: 1, usage: [] },
};
