import type { Dialect } from '../dialect.js';
import { answer } from '../wire.js';

export const equalRoles: Dialect = {
  name: 'Neighbouring messages of one role are refused.',
  protocol: 'anthropic',
  server: 'vLLM with Mistral, and earlier versions of the Messages API',
  source: 'https://github.com/vllm-project/vllm/issues/6862',
  script: () => answer('Hello.'),
  questions: ['One thing.', 'And another.'],
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
