import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const budgetExceeded: Dialect = {
  name: 'The budget of the key is spent, with the status of an invalid request.',
  protocol: 'both',
  server: 'LiteLLM',
  source: 'https://github.com/BerriAI/litellm/issues/4208',
  script: () =>
    refuse(400, 'Budget has been exceeded! Current cost: 0.0010747, Max budget: 0.0', { type: 'auth_error' }),
  expected: { text: '', error: 'model_rejected', says: 'has no credit left', requests: 1, usage: [] },
};
