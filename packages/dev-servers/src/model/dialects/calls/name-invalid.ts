import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const nameInvalid: Dialect = {
  name: 'The name of a call has characters that the server rejects in the next request.',
  protocol: 'openai',
  server: 'OpenAI',
  source: 'https://github.com/mcp-use/mcp-use/issues/90',
  script: rawOnce(toolCalls(call({ index: 0, id: 'a' }, 'web.search now', '{}')), ...FINISHED),
  expected: onlyCalls({ name: 'web.search now', input: {} }),
};
