import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsRepeated: Dialect = {
  name: 'The arguments are sent twice.',
  protocol: 'both',
  server: 'providers behind Hermes Agent, and small local models',
  source: 'https://github.com/NousResearch/hermes-agent/issues/6841',
  script: calling({ name: 'web_search', arguments: '{"query":"one"}{"query":"one"}' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
