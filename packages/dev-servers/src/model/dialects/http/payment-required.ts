import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const paymentRequired: Dialect = {
  name: 'The account of the operator has no credit.',
  protocol: 'both',
  server: 'DeepSeek',
  source: 'https://api-docs.deepseek.com/quick_start/error_codes',
  script: () => refuse(402, 'Insufficient Balance'),
  expected: { text: '', error: 'model_unavailable', requests: 1, usage: [] },
};
