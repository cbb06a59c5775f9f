import type { Dialect } from '../dialect.js';
import { answer, hasSystem, refuse } from '../wire.js';

export const rolesAlternate: Dialect = {
  name: 'The template of the model counts the system prompt as a message of the conversation.',
  protocol: 'openai',
  server: 'vLLM with Mistral 7B Instruct',
  source: 'https://github.com/microsoft/autogen/issues/1037',
  system: 'Be brief.',
  script: (_index, { raw: body }) =>
    hasSystem(body)
      ? refuse(400, 'Conversation roles must alternate user/assistant/user/assistant/...')
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
