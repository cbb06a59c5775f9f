import type { Dialect } from '../dialect.js';
import { FINISHED_WITHOUT_END, raw } from '../wire.js';

export const cutInUsage: Dialect = {
  name: 'The stream ends in the event after the finish reason, without an error.',
  protocol: 'both',
  server: 'OpenAI-compatible gateways',
  source: 'https://github.com/vercel/ai/issues/19165',
  script: (_index, { protocol }) => raw(FINISHED_WITHOUT_END[protocol], 'data: {"choices":[],"usage":{"promp'),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
