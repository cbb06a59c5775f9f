import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsFenced: Dialect = {
  name: 'The arguments are in a fenced block.',
  protocol: 'both',
  server: 'small local models',
  source: 'https://github.com/NousResearch/hermes-agent/pull/79333',
  script: calling({ name: 'web_search', arguments: '```json\n{"query": "one"}\n```' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
