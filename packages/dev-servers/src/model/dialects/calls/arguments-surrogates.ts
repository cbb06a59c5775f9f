import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsSurrogates: Dialect = {
  name: 'Arguments have halves of characters, which the server rejects in the next request.',
  protocol: 'both',
  server: 'DeepSeek',
  source: 'https://github.com/JohnnyZ93/oai-compatible-copilot/pull/271',
  script: calling({ name: 'web_search', arguments: { query: 'a\ud83db', list: [{ '\udc00': 1 }] } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'a\ufffdb', list: [{ '\ufffd': 1 }] } }),
};
