import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const nameCase: Dialect = {
  name: 'The name of a call has another case and other separators.',
  protocol: 'both',
  server: 'MCP clients',
  source: 'https://github.com/backstage/backstage/pull/34637',
  script: calling({ name: 'Web-Search', arguments: { query: 'one' } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
