import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textBare: Dialect = {
  name: 'A plain object is a call.',
  protocol: 'both',
  server: 'local models on Ollama',
  source: 'https://github.com/nugget/thane-ai-agent/pull/21',
  script: textingOnce('{"name": "w', 'eb_search",', ' "arguments', '": {"query"', ': "one"}}'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
