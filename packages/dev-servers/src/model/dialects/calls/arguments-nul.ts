import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsNul: Dialect = {
  name: 'Arguments have NUL characters.',
  protocol: 'both',
  server: 'OpenAI with GPT-5 mini',
  source: 'https://github.com/NousResearch/hermes-agent/issues/42801',
  script: calling({ name: 'web_search', arguments: { query: 'Ume\0e5', 'k\0': ['\0'] } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'Umee5', k: [''] } }),
};
