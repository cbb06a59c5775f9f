import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageChunk } from '../wire.js';

export const lineSeparators: Dialect = {
  name: 'The text has Unicode line separators that are not escaped.',
  protocol: 'openai',
  server: 'OpenAI-compatible gateways',
  source: 'https://github.com/Soju06/codex-lb/pull/1011',
  script: () => raw(choice({ content: 'one\u2028two\u2029three' }), STOP, usageChunk(20, 5), DONE),
  // Invisible characters are removed from the text of models.
  expected: { text: 'onetwothree', finish: 'answered', requests: 1, usage: ['reported'] },
};
