import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsEscaped: Dialect = {
  name: 'The quotes of the arguments are escaped once too often.',
  protocol: 'both',
  server: 'GLM-5.1 on Ollama Cloud',
  source: 'https://github.com/NousResearch/hermes-agent/issues/13042',
  script: calling({ name: 'web_search', arguments: String.raw`{\"query\": \"one\"}` }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
