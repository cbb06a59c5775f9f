import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const outputLimit: Dialect = {
  name: 'The output limit of the request exceeds that of the model.',
  protocol: 'openai',
  server: 'OpenAI',
  source: 'https://github.com/ChatGPTNextWeb/NextChat/issues/3195',
  script: (_index, { raw: body }) =>
    Number(body['max_tokens'] ?? body['max_completion_tokens']) > 64
      ? refuse(
          400,
          'max_tokens is too large: 100. This model supports at most 64 completion tokens, whereas you provided 100.',
        )
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
