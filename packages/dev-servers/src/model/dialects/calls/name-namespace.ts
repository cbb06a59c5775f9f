import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const nameNamespace: Dialect = {
  name: 'The name of a call has a namespace.',
  protocol: 'both',
  server: 'gpt-oss behind servers that pass on the recipient',
  source: 'https://github.com/openai/harmony/blob/main/docs/format.md',
  script: calling({ name: 'functions.web_search', arguments: { query: 'one' } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
