import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

const query = 'x'.repeat(1024 * 1024);

export const argumentsLarge: Dialect = {
  name: 'The arguments of a call have 1 MiB.',
  protocol: 'both',
  server: 'any server with a model that writes files',
  source: 'https://github.com/NousResearch/hermes-agent/issues/92207',
  script: calling({ name: 'web_search', arguments: { query } }),
  expected: onlyCalls({ name: 'web_search', input: { query } }),
};
