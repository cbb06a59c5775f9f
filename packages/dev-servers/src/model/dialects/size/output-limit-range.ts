import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const outputLimitRange: Dialect = {
  name: 'The output limit must be in a range.',
  protocol: 'both',
  server: 'DeepSeek',
  source: 'https://github.com/we0-dev/we0/issues/56',
  script: (_index, { raw: body }) =>
    Number(body['max_tokens'] ?? body['max_completion_tokens']) > 64
      ? refuse(400, 'Invalid max_tokens value, the valid range of max_tokens is [1, 64]')
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
