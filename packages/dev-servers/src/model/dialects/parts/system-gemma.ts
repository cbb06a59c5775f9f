import type { Dialect } from '../dialect.js';
import { answer, hasSystem, refuse } from '../wire.js';

export const systemGemma: Dialect = {
  name: 'The template of the model has no system role.',
  protocol: 'both',
  server: 'vLLM with Gemma 2',
  source: 'https://github.com/huggingface/chat-ui/issues/1386',
  system: 'Be brief.',
  script: (_index, { raw: body }) => (hasSystem(body) ? refuse(400, 'System role not supported') : answer('Hello.')),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
