import type { Dialect } from '../dialect.js';
import { ANSWER, choice, raw } from '../wire.js';

export const endsInText: Dialect = {
  name: 'The stream ends in the text without an error.',
  protocol: 'openai',
  server: 'OpenAI-compatible gateways',
  source: 'https://github.com/vercel/ai/issues/19165',
  script: (index) => raw(...(index === 0 ? [choice({ content: 'Hel' })] : ANSWER)),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated', 'reported'] },
};
