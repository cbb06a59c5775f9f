import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsBraces: Dialect = {
  name: 'The arguments have two braces on each side, and no quotes around their names.',
  protocol: 'both',
  server: 'Kimi behind GMI',
  source: 'https://github.com/tinyhumansai/tinyagents/pull/68',
  script: calling({ name: 'web_search', arguments: '{{query: "one"}}' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
