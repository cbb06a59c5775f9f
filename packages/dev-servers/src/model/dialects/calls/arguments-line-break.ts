import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsLineBreak: Dialect = {
  name: 'An argument has a line break that is not escaped.',
  protocol: 'both',
  server: 'Moonshot AI with Kimi K2.5',
  source: 'https://github.com/MoonshotAI/kimi-cli/issues/1378',
  script: calling({ name: 'web_search', arguments: '{"query": "one\ntwo"}' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one\ntwo' } }),
};
