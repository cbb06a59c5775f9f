import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const nameInvalid: Dialect = {
  name: 'The name of a call has characters that the server rejects in the next request.',
  protocol: 'openai',
  server: 'OpenAI',
  source: 'https://github.com/mcp-use/mcp-use/issues/90',
  script: (index) =>
    index > 0 ? undefined : raw(toolCalls(call({ index: 0, id: 'a' }, 'web.search now', '{}')), ...FINISHED),
  expected: {
    text: '',
    finish: 'calls',
    calls: [{ name: 'web.search now', input: {} }],
    requests: 1,
    usage: ['reported'],
  },
};
