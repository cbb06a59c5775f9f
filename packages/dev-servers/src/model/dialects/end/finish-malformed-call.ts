import type { Dialect } from '../dialect.js';
import { repeated } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishMalformedCall: Dialect = {
  name: 'The model wrote a call that the server could not parse.',
  protocol: 'both',
  server: 'Gemini',
  source: 'https://github.com/pydantic/pydantic-ai/pull/3300',
  script: endingOnce('MALFORMED_FUNCTION_CALL', ''),
  expected: repeated(),
};
