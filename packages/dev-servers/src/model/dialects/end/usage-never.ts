import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP } from '../wire.js';

export const usageNever: Dialect = {
  name: 'There is no usage, although it was requested.',
  protocol: 'openai',
  server: 'OpenAI-compatible gateways',
  source: 'https://github.com/langgenius/dify-official-plugins/pull/3650',
  script: () => raw(choice({ content: 'Hello.' }), STOP, DONE),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
