import type { Dialect } from '../dialect.js';
import { repeated } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishInsufficientResource: Dialect = {
  name: 'The server interrupts the text for lack of resources.',
  protocol: 'both',
  server: 'DeepSeek',
  source: 'https://github.com/vercel/ai/blob/main/packages/deepseek/src/chat/map-deepseek-finish-reason.ts',
  script: endingOnce('insufficient_system_resource', 'Half an ans'),
  expected: repeated(),
};
