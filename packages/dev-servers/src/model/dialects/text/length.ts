import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, usageChunk } from '../wire.js';

export const length: Dialect = {
  name: 'The output limit cuts the text.',
  protocol: 'openai',
  server: 'OpenAI',
  source: 'https://platform.openai.com/docs/api-reference/chat/object',
  script: () => raw(choice({ content: 'Hel' }), choice({}, 'length'), usageChunk(20, 5), DONE),
  expected: { text: 'Hel', finish: 'length', requests: 1, usage: ['reported'] },
};
