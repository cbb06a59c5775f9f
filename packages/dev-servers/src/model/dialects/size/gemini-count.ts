import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const geminiCount: Dialect = {
  name: 'The size of the prompt precedes the limit, both in parentheses.',
  protocol: 'openai',
  server: 'Gemini',
  source: 'https://github.com/google-gemini/gemini-cli/issues/6678',
  script: () => refuse(400, 'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).'),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 1048576, requests: 1, usage: [] },
};
