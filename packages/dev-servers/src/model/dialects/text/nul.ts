import type { Dialect } from '../dialect.js';
import { USAGE } from '../wire.js';

export const nul: Dialect = {
  name: 'The text has NUL characters.',
  protocol: 'both',
  server: 'OpenAI',
  source: 'https://github.com/opensanctions/poliloom/issues/138',
  script: () => [{ text: 'K\0òrsou' }, { text: '\0!' }, USAGE],
  expected: { text: 'Kòrsou!', finish: 'answered', requests: 1, usage: ['reported'] },
};
