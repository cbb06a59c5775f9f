import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const errorWith200: Dialect = {
  name: 'An error is sent with status 200 and a JSON body.',
  protocol: 'openai',
  server: 'OpenAI-compatible gateways',
  source: 'https://github.com/iOfficeAI/aionrs/pull/237',
  script: (index) =>
    index === 0
      ? refuse(200, '', { body: '{"error":{"code":503,"message":"upstream unavailable"}}' })
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
