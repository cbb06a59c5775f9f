import type { Dialect } from '../dialect.js';
import { ANSWER, raw, refuse } from '../wire.js';

export const maxCompletionTokens: Dialect = {
  name: 'The parameter max_tokens has another name.',
  protocol: 'openai',
  server: 'OpenAI, newer models',
  source: 'https://github.com/griptape-ai/ComfyUI-Griptape/issues/312',
  script: (_index, { raw: body }) =>
    'max_tokens' in body || !('max_completion_tokens' in body)
      ? refuse(
          400,
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
          { type: 'invalid_request_error', code: 'unsupported_parameter' },
        )
      : raw(...ANSWER),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
