import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsQuotes: Dialect = {
  name: 'Quotes in an argument are not escaped.',
  protocol: 'both',
  server: 'small local models',
  source: 'https://github.com/NousResearch/hermes-agent/pull/36271',
  script: calling({ name: 'web_search', arguments: '{"query": "the word "hello""}' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'the word "hello"' } }),
};
