import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const outputLimitBedrock: Dialect = {
  name: 'The output limit exceeds that of the model, which has another name for it.',
  protocol: 'both',
  server: 'Amazon Bedrock',
  source: 'https://github.com/aws-samples/bedrock-access-gateway/issues/41',
  script: (_index, { raw: body }) =>
    Number(body['max_tokens'] ?? body['max_completion_tokens']) > 64
      ? refuse(
          400,
          'The maximum tokens you requested exceeds the model limit of 64. Try again with a maximum tokens value that is lower than 64.',
        )
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
