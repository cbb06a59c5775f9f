import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const openaiTokensPerMinute: Dialect = {
  name: 'A request exceeds the tokens of a whole minute, with status 429.',
  protocol: 'openai',
  server: 'OpenAI',
  source: 'https://github.com/vanna-ai/vanna-flask/issues/11',
  script: () =>
    refuse(
      429,
      'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 30000, requests: 1, usage: [] },
};
