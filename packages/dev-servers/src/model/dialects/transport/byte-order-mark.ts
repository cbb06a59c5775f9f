import type { Dialect } from '../dialect.js';
import { raw, whole } from '../wire.js';

export const byteOrderMark: Dialect = {
  name: 'The stream begins with a byte order mark.',
  protocol: 'openai',
  server: 'servers behind proxies',
  source: 'https://github.com/elizaOS/eliza/issues/19260',
  script: () => raw(`\uFEFF${whole}`),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
