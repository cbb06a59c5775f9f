import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const nameParentheses: Dialect = {
  name: 'Parentheses follow the name of a call.',
  protocol: 'both',
  server: 'small local models',
  source: 'https://github.com/vllm-project/vllm/pull/23099',
  script: calling({ name: 'web_search() ', arguments: { query: 'one' } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
