import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsPython: Dialect = {
  name: 'The arguments are a dictionary of Python.',
  protocol: 'both',
  server: 'models in the environments of Atropos',
  source: 'https://github.com/NousResearch/atropos/issues/478',
  script: calling({ name: 'web_search', arguments: "{'query': 'one'}" }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
