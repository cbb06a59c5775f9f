import type { Dialect } from '../dialect.js';
import { raw, whole } from '../wire.js';

export const noSpace: Dialect = {
  name: 'There is no space after the colon of a data line.',
  protocol: 'openai',
  server: 'servers of the SSE specification',
  source: 'https://github.com/praxis-proxy/praxis/pull/739',
  script: () => raw(whole.replaceAll('data: ', 'data:')),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
