import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { FINISHED, rawOnce, toolCalls } from '../wire.js';

export const functionInCall: Dialect = {
  name: 'The name and the arguments are not in the field function of the call.',
  protocol: 'openai',
  server: 'gateways that translate protocols',
  source: 'https://github.com/tinyhumansai/tinyagents/blob/main/src/harness/tool_calling/parse.rs',
  script: rawOnce(toolCalls({ index: 0, id: 'a', name: 'web_search', arguments: { query: 'one' } }), ...FINISHED),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
