import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const cacheControl: Dialect = {
  name: 'Marks for the cache are extra inputs.',
  protocol: 'anthropic',
  server: 'Amazon Bedrock and Vertex AI',
  source: 'https://github.com/UKGovernmentBEIS/inspect_ai/pull/3851',
  system: 'Be brief.',
  script: (_index, { raw: body }) =>
    JSON.stringify(body).includes('cache_control')
      ? refuse(400, 'system.0.cache_control: Extra inputs are not permitted')
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
