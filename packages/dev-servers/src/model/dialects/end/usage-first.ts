import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageOf } from '../wire.js';

export const usageFirst: Dialect = {
  name: 'Only the first chunk has usage, and only for the prompt.',
  protocol: 'openai',
  server: 'LiteLLM',
  source: 'https://github.com/vercel/ai/issues/2763',
  script: () => raw(usageOf({ prompt_tokens: 20, total_tokens: 20 }), choice({ content: 'Hello.' }), STOP, DONE),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
