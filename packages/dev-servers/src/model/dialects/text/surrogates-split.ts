import type { Dialect } from '../dialect.js';
import { USAGE } from '../wire.js';

export const surrogatesSplit: Dialect = {
  name: 'The halves of a character are in two chunks.',
  protocol: 'both',
  server: 'servers that cut the text by UTF-16 code units',
  source: 'https://github.com/elie222/rakazo/issues/416',
  script: () => [{ text: 'a\ud83d' }, { text: '\ude00b' }, USAGE],
  expected: { text: 'a😀b', finish: 'answered', requests: 1, usage: ['reported'] },
};
