import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const outputLimitValue: Dialect = {
  name: 'The output limit is above a maximum value.',
  protocol: 'openai',
  server: 'Volcengine',
  source: 'https://github.com/langgenius/dify/issues/14376',
  script: (_index, { raw: body }) =>
    Number(body['max_tokens'] ?? body['max_completion_tokens']) > 64
      ? refuse(
          400,
          'The parameter `max_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 64, but got 100 instead.',
        )
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
