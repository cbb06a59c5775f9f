import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const redirected: Dialect = {
  name: 'The URL has moved to another address.',
  protocol: 'both',
  server: 'proxies that require HTTPS',
  source: 'https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Status/308',
  script: () => refuse(308, 'Permanent Redirect', { headers: { location: 'https://other.example/v1' } }),
  expected: { text: '', error: 'model_rejected', says: 'redirect (status 308)', requests: 1, usage: [] },
};
