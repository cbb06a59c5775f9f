import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const nameCase: Dialect = {
  name: 'The name of a call has another case and other separators.',
  protocol: 'both',
  server: 'Gemini with MCP tools',
  source: 'https://github.com/google-gemini/gemini-cli/issues/25952',
  script: calling({ name: 'Web-Search', arguments: { query: 'one' } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
