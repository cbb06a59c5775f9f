import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const openrouterTools: Dialect = {
  name: 'The parts of the request are counted one by one, with those of tools.',
  protocol: 'openai',
  server: 'OpenRouter',
  source: 'https://github.com/musistudio/claude-code-router/issues/252',
  script: () =>
    refuse(
      400,
      'This endpoint\'s maximum context length is 65536 tokens. However, you requested about 92208 tokens (60833 of text input, 10042 of tool input, 21333 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 65536, requests: 1, usage: [] },
};
