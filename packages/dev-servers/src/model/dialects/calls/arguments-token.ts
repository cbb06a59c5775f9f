import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsToken: Dialect = {
  name: 'A special token follows the arguments.',
  protocol: 'both',
  server: 'gateways that leave the markers of the template',
  source: 'https://github.com/tinyhumansai/tinyagents/blob/main/src/harness/providers/openai/convert.rs',
  script: calling({ name: 'web_search', arguments: '{"query": "one"}<|call|>' }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
