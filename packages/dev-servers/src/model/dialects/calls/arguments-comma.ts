import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsComma: Dialect = {
  name: 'A comma follows the last argument.',
  protocol: 'both',
  server: 'GLM-5.1 behind Ollama',
  source: 'https://github.com/NousResearch/hermes-agent/pull/12252',
  script: calling({ name: 'web_search', arguments: '{"query": "one",}' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
