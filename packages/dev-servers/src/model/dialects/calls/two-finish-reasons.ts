import type { Dialect } from '../dialect.js';
import { call, choice, DONE, rawOnce, STOP, toolCalls, usageChunk } from '../wire.js';

export const twoFinishReasons: Dialect = {
  name: 'The finish reason of a call with text is repeated as stop.',
  protocol: 'openai',
  server: 'ChatMock',
  source: 'https://github.com/RayBytes/ChatMock/pull/114',
  script: rawOnce(
    choice({ content: 'Let me look that up.' }),
    toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query":"one"}')),
    choice({}, 'tool_calls'),
    STOP,
    usageChunk(20, 5),
    DONE,
  ),
  expected: {
    text: 'Let me look that up.',
    finish: 'calls',
    calls: [{ name: 'web_search', input: { query: 'one' } }],
    requests: 1,
    usage: ['reported'],
  },
};
