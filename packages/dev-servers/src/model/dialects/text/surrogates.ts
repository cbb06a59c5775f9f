import type { Dialect } from '../dialect.js';
import { USAGE } from '../wire.js';

export const surrogates: Dialect = {
  name: 'The text has halves of characters.',
  protocol: 'both',
  server: 'any server with models of byte tokens',
  source: 'https://github.com/NousResearch/hermes-agent/pull/44376',
  script: () => [{ text: 'a\ud83d' }, { text: 'b\ude00c\ud83d' }, USAGE],
  expected: { text: 'a\ufffdb\ufffdc\ufffd', finish: 'answered', requests: 1, usage: ['reported'] },
};
