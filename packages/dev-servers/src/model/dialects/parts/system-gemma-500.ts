import type { Dialect } from '../dialect.js';
import { answer, hasSystem, refuse } from '../wire.js';

export const systemGemma500: Dialect = {
  name: 'The template of the model has no system role, which is a failure of the server.',
  protocol: 'openai',
  server: 'SGLang with Gemma 2',
  source: 'https://github.com/sgl-project/sglang/issues/892',
  system: 'Be brief.',
  script: (_index, { raw: body }) => (hasSystem(body) ? refuse(500, 'System role not supported') : answer('Hello.')),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
