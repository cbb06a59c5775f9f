import type { Dialect } from '../dialect.js';
import { repeated } from '../expected.js';
import { USAGE, wholeText } from '../wire.js';

export const finishErrorWhole: Dialect = {
  name: 'A whole response has the finish reason error.',
  protocol: 'both',
  server: 'OpenRouter',
  source: 'https://github.com/pydantic/pydantic-ai/blob/main/tests/models/test_openrouter.py',
  script: (index, received) =>
    index === 0 ? wholeText('Half an ans', 'error', received) : [{ text: 'Hello.' }, USAGE],
  expected: repeated(),
};
