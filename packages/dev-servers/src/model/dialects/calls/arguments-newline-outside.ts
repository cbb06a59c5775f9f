import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsNewlineOutside: Dialect = {
  name: 'Line breaks between arguments are written as escapes.',
  protocol: 'both',
  server: 'Qwen3.5-Flash',
  source: 'https://github.com/OpenHands/software-agent-sdk/issues/2488',
  script: calling({ name: 'web_search', arguments: String.raw`{"query": \n"one"\n}` }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
