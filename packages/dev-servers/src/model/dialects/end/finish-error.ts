import type { Dialect } from '../dialect.js';
import { repeated } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishError: Dialect = {
  name: 'The provider behind a gateway fails in the text, which only the finish reason reports.',
  protocol: 'both',
  server: 'OpenRouter',
  source: 'https://github.com/damianvtran/local-operator/pull/223',
  script: endingOnce('error', 'Half an ans'),
  expected: repeated(),
};
