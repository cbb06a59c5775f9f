import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const toolsLlama: Dialect = {
  name: 'The server was started without tools, and answers with status 500.',
  protocol: 'openai',
  server: 'llama.cpp server',
  source: 'https://github.com/defilantech/LLMKube/issues/126',
  script: (_index, { raw: body }) =>
    'tools' in body ? refuse(500, 'tools param requires --jinja flag', { type: 'server_error' }) : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
