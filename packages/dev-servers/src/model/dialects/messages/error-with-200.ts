import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const errorWith200Messages: Dialect = {
  name: 'An error is sent with status 200 and a JSON body.',
  protocol: 'anthropic',
  server: 'OpenRouter',
  source: 'https://github.com/antiwork/gumroad/pull/5833',
  script: (index) =>
    index === 0
      ? refuse(200, '', { body: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}' })
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
