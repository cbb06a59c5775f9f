import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const tooLarge: Dialect = {
  name: 'A body that is too large is refused with status 413.',
  protocol: 'both',
  server: 'Anthropic and proxies',
  source: 'https://docs.claude.com/en/api/errors',
  script: () => refuse(413, 'Request exceeds the maximum size'),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, requests: 1, usage: [] },
};
