import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageChunk } from '../wire.js';

export const nullDelta: Dialect = {
  name: 'A delta is null.',
  protocol: 'openai',
  server: 'Azure OpenAI',
  source: 'https://github.com/bagofwords1/bagofwords/pull/742',
  script: () =>
    raw(choice({ content: 'Hel' }), choice(null), choice({ content: 'lo.' }), STOP, usageChunk(20, 5), DONE),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
