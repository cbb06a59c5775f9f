import type { Dialect } from '../dialect.js';
import { answer, hasSystem, refuse } from '../wire.js';

export const systemGemini: Dialect = {
  name: 'The model has no developer instruction.',
  protocol: 'openai',
  server: 'Gemini API with Gemma 3',
  source: 'https://github.com/lobehub/lobehub/issues/7128',
  system: 'Be brief.',
  script: (_index, { raw: body }) =>
    hasSystem(body) ? refuse(400, 'Developer instruction is not enabled for models/gemma-3-27b-it') : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
