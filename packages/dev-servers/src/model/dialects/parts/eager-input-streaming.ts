import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const eagerInputStreaming: Dialect = {
  name: 'A field of tools is an extra input.',
  protocol: 'anthropic',
  server: 'GitHub Copilot',
  source: 'https://github.com/openclaw/openclaw/issues/85647',
  script: (_index, { raw: body }) =>
    JSON.stringify(body).includes('eager_input_streaming')
      ? refuse(400, 'tools.0.custom.eager_input_streaming: Extra inputs are not permitted')
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
