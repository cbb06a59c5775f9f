import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const nameDefaultApi: Dialect = {
  name: 'The name of a call has the namespace default_api.',
  protocol: 'both',
  server: 'Gemini',
  source: 'https://github.com/UKGovernmentBEIS/inspect_ai/blob/main/src/inspect_ai/model/_providers/google.py',
  script: calling({ name: 'default_api.web_search', arguments: { query: 'one' } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
