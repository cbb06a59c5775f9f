import type { Dialect } from '../dialect.js';
import { FINISHED_WITHOUT_END } from '../wire.js';

export const cutAfterFinish: Dialect = {
  name: 'The connection is closed after the finish reason.',
  protocol: 'both',
  server: 'any server behind a proxy',
  source: 'https://github.com/vllm-project/vllm/issues/2484',
  script: (_index, { protocol }) => [{ raw: FINISHED_WITHOUT_END[protocol] }, { disconnect: true }],
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
