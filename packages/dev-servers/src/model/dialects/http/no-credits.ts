import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const noCredits: Dialect = {
  name: 'The account of the operator has used its credits, with the status of a limit.',
  protocol: 'both',
  server: 'xAI',
  source: 'https://github.com/continuedev/continue/issues/10373',
  script: () =>
    refuse(
      429,
      'Your team 16f2 has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.',
    ),
  expected: { text: '', error: 'model_rejected', says: 'has no credit left', requests: 1, usage: [] },
};
