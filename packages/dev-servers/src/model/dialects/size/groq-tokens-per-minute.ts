import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const groqTokensPerMinute: Dialect = {
  name: 'A request exceeds the tokens of a whole minute, with status 413.',
  protocol: 'openai',
  server: 'Groq',
  source: 'https://github.com/continuedev/continue/issues/10218',
  script: () =>
    refuse(
      413,
      'Request too large for model `llama-3.3-70b-versatile` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 12000, requests: 1, usage: [] },
};
