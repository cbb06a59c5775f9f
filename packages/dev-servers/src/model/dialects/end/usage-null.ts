import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageOf } from '../wire.js';

export const usageNull: Dialect = {
  name: 'Counts of tokens are null.',
  protocol: 'openai',
  server: 'proxies in front of own models',
  source: 'https://github.com/livekit/agents/pull/6596',
  script: () =>
    raw(
      choice({ content: 'Hello.' }),
      STOP,
      usageOf({ prompt_tokens: 20, completion_tokens: null, prompt_tokens_details: null }),
      DONE,
    ),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
