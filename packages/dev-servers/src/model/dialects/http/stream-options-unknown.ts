import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, refuse, STOP } from '../wire.js';

export const streamOptionsUnknown: Dialect = {
  name: 'The parameter stream_options is unknown.',
  protocol: 'openai',
  server: 'Azure OpenAI behind New API',
  source: 'https://github.com/QuantumNous/new-api/issues/418',
  script: (_index, { raw: body }) =>
    'stream_options' in body
      ? refuse(400, "Unknown parameter: 'stream_options'.", {
          type: 'invalid_request_error',
          code: 'unknown_parameter',
        })
      : raw(choice({ content: 'Hello.' }), STOP, DONE),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated'] },
};
