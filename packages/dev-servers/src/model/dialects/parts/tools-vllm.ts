import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const toolsVllm: Dialect = {
  name: 'The server was started without tools.',
  protocol: 'openai',
  server: 'vLLM',
  source: 'https://github.com/langchain4j/langchain4j/issues/3475',
  script: (_index, { raw: body }) =>
    'tools' in body
      ? refuse(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', {
          type: 'BadRequestError',
        })
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
