import type { Dialect } from '../dialect.js';
import { FINISHED_WITHOUT_END } from '../wire.js';

export const commentsAfterFinish: Dialect = {
  name: 'Comments without an end follow the finish reason.',
  protocol: 'openai',
  server: 'OpenAI-compatible servers behind Bifrost',
  source: 'https://github.com/maximhq/bifrost/issues/6784',
  script: (_index, { protocol }) => [
    { raw: FINISHED_WITHOUT_END[protocol] },
    ...Array.from({ length: 40 }, () => [{ delayMs: 200 }, { raw: ': heartbeat\n\n' }]).flat(),
    { hang: true },
  ],
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
