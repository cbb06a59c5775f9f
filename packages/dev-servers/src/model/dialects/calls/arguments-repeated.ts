import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsRepeated: Dialect = {
  name: 'The arguments are sent twice.',
  protocol: 'both',
  server: 'vLLM with streaming tool parsers',
  source: 'https://github.com/livekit/agents/issues/5409',
  script: calling({ name: 'web_search', arguments: '{"query":"one"}{"query":"one"}' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
