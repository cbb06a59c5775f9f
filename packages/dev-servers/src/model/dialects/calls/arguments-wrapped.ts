import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsWrapped: Dialect = {
  name: 'The arguments hold a whole call.',
  protocol: 'both',
  server: 'Ollama',
  source: 'https://github.com/ollama/ollama/issues/11805',
  script: calling({ name: 'web_search', arguments: { name: 'web_search', arguments: { query: 'one' } } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
