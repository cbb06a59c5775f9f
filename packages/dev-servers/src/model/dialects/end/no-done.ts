import type { Dialect } from '../dialect.js';
import { choice, raw, STOP, usageChunk } from '../wire.js';

export const noDone: Dialect = {
  name: 'The end marker is missing.',
  protocol: 'openai',
  server: 'text-generation-webui',
  source: 'https://github.com/oobabooga/textgen/issues/4778',
  script: () => raw(choice({ content: 'Hello.' }), STOP, usageChunk(20, 5)),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
