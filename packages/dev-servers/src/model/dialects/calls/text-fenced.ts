import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textFenced: Dialect = {
  name: 'A fenced object is a call.',
  protocol: 'both',
  server: 'Qwen2.5-Coder on llama.cpp',
  source: 'https://github.com/jundot/omlx/issues/2565',
  script: textingOnce('```json\n{"name', '": "web_search', '", "arguments"', ': {"query": "o', 'ne"}}\n```'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
