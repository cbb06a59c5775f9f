import type { Dialect } from '../dialect.js';
import { answer } from '../wire.js';

export const cutInText: Dialect = {
  name: 'The connection is closed in the text.',
  protocol: 'both',
  server: 'any server behind a proxy',
  source: 'https://github.com/earendil-works/pi/issues/5793',
  script: (index) => (index === 0 ? [{ text: 'Hel' }, { disconnect: true }] : answer('Hello.')),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated', 'reported'] },
};
