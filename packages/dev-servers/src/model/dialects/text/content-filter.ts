import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, usageChunk } from '../wire.js';

export const contentFilter: Dialect = {
  name: 'A filter ends the response without a text.',
  protocol: 'openai',
  server: 'OpenAI and Azure OpenAI',
  source: 'https://platform.openai.com/docs/api-reference/chat/streaming',
  script: () => raw(choice({ role: 'assistant', content: '' }), choice({}, 'content_filter'), usageChunk(20, 0), DONE),
  expected: { text: '', finish: 'refused', requests: 1, usage: ['reported'] },
};
