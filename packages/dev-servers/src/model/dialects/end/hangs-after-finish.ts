import type { Dialect } from '../dialect.js';
import { FINISHED_WITHOUT_END } from '../wire.js';

export const hangsAfterFinish: Dialect = {
  name: 'The connection stays open after the finish reason.',
  protocol: 'both',
  server: 'vllm-mlx',
  source: 'https://github.com/waybarrios/vllm-mlx/issues/101',
  script: (_index, { protocol }) => [{ raw: FINISHED_WITHOUT_END[protocol] }, { hang: true }],
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
