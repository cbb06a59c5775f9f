import type { Dialect } from '../dialect.js';
import { answer } from '../wire.js';

export const cutBeforeText: Dialect = {
  name: 'The connection is closed before the text.',
  protocol: 'both',
  server: 'any server behind a proxy',
  source: 'https://github.com/vllm-project/vllm/issues/2484',
  script: (index) => (index === 0 ? [{ ping: true }, { disconnect: true }] : answer('Hello.')),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated', 'reported'] },
};
