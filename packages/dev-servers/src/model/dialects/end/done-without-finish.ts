import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, usageChunk } from '../wire.js';

export const doneWithoutFinish: Dialect = {
  name: 'The stream is done without a finish reason.',
  protocol: 'openai',
  server: 'OpenCode Zen gateway',
  source: 'https://github.com/anomalyco/opencode/issues/43882',
  script: () => raw(choice({ content: 'Hello.' }), usageChunk(20, 5), DONE),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
