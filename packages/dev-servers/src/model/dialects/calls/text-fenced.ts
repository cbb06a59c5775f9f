import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textFenced: Dialect = {
  name: 'A fenced object is a call.',
  protocol: 'both',
  server: 'local models behind servers without a tool parser',
  source: 'https://github.com/agent0ai/agent-zero/pull/1829',
  script: textingOnce('```json\n{"name', '": "web_search', '", "arguments"', ': {"query": "o', 'ne"}}\n```'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
