import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const noQuota: Dialect = {
  name: 'The account of the operator has no quota left, with the status of a limit.',
  protocol: 'openai',
  server: 'OpenAI',
  source: 'https://github.com/mattvr/ShellGPT/issues/23',
  script: () =>
    refuse(429, 'You exceeded your current quota, please check your plan and billing details.', {
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
  expected: { text: '', error: 'model_rejected', says: 'has no credit left', requests: 1, usage: [] },
};
