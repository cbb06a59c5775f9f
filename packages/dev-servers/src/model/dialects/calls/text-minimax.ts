import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textMinimax: Dialect = {
  name: 'A call is text in the form of Claude with a prefix.',
  protocol: 'both',
  server: 'MiniMax',
  source: 'https://github.com/NousResearch/hermes-agent/pull/35129',
  script: textingOnce(
    '<minimax:tool_call>\n<inv',
    'oke name="web_search">\n<',
    'parameter name="query">o',
    'ne</parameter>\n</invoke>',
    '\n</minimax:tool_call>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
