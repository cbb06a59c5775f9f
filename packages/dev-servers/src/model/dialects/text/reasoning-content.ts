import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { arrived, call, choice, FINISHED, raw, refuse, toolCalls } from '../wire.js';

export const reasoningContent: Dialect = {
  name: 'The reasoning of a step with calls must come back.',
  protocol: 'openai',
  server: 'DeepSeek with thinking',
  source: 'https://github.com/abhigyanpatwari/GitNexus/issues/43',
  script(index, received) {
    if (index === 0) {
      return raw(
        choice({ reasoning_content: 'I must ' }),
        choice({ reasoning_content: 'search.' }),
        toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query":"one"}')),
        ...FINISHED,
      );
    }
    const { assistant } = arrived(received);
    return assistant['reasoning_content'] === 'I must search.'
      ? undefined
      : refuse(400, 'Missing `reasoning_content` field in the assistant message at message index 2.');
  },
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
