import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

/** More than the attempts after other failures. */
const ATTEMPTS = 8;

export const loadingLlama: Dialect = {
  name: 'The server loads the model for longer than a failure lasts.',
  protocol: 'both',
  server: 'llama.cpp server',
  source: 'https://github.com/containers/ramalama/issues/2343',
  script: (index) =>
    index < ATTEMPTS ? refuse(503, 'Loading model', { type: 'unavailable_error' }) : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 9, usage: ['reported'] },
};
