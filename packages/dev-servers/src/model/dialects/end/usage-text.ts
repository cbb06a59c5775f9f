import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageOf } from '../wire.js';

export const usageText: Dialect = {
  name: 'Counts of tokens are texts.',
  protocol: 'openai',
  server: 'models of LlamaIndex',
  source: 'https://github.com/Arize-ai/openinference/pull/1183',
  script: () =>
    raw(choice({ content: 'Hello.' }), STOP, usageOf({ prompt_tokens: '20', completion_tokens: '5' }), DONE),
  expected: {
    text: 'Hello.',
    finish: 'answered',
    requests: 1,
    usage: ['reported'],
    tokens: { prompt: 20, completion: 5 },
  },
};
