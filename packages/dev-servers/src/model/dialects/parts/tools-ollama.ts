import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const toolsOllama: Dialect = {
  name: 'The model has no tools.',
  protocol: 'both',
  server: 'Ollama',
  source: 'https://github.com/openclaw/openclaw/issues/12292',
  script: (_index, { raw: body }) =>
    'tools' in body
      ? refuse(400, 'registry.ollama.ai/library/gemma3:1b does not support tools', { type: 'invalid_request_error' })
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
