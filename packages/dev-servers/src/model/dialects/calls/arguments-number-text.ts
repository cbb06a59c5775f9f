import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsNumberText: Dialect = {
  name: 'Numbers, booleans and lists are text.',
  protocol: 'both',
  server: 'vLLM with Gemma 4',
  source: 'https://github.com/vllm-project/vllm/issues/47906',
  script: calling({ name: 'read_page', arguments: { url: 'one', depth: '2', whole: 'true', parts: '["a"]' } }),
  expected: onlyCalls({ name: 'read_page', input: { url: 'one', depth: 2, whole: true, parts: ['a'] } }),
};
