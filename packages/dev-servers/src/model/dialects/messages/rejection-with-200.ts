import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const rejectionWith200: Dialect = {
  name: 'A rejection is sent with status 200 and a JSON body.',
  protocol: 'anthropic',
  server: 'OpenRouter',
  source: 'https://github.com/antiwork/gumroad/pull/5833',
  script: () =>
    refuse(200, '', {
      body: '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
    }),
  expected: { text: '', error: 'model_rejected', requests: 1, usage: [] },
};
