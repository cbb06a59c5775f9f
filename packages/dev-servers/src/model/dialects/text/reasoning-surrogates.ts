import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { arrived, call, choice, FINISHED, raw, refuse, toolCalls } from '../wire.js';

export const reasoningSurrogates: Dialect = {
  name: 'Reasoning that must come back has halves of characters, which the server rejects.',
  protocol: 'openai',
  server: 'DeepSeek',
  source: 'https://github.com/JohnnyZ93/oai-compatible-copilot/pull/271',
  script(_index, received) {
    const { results, assistant } = arrived(received);
    if (!results) {
      return raw(
        choice({ reasoning_content: 'Look \ud83d' }),
        choice({ reasoning_content: '\ude00 it up \ud83d' }),
        toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query":"one"}')),
        ...FINISHED,
      );
    }
    return assistant['reasoning_content'] === 'Look 😀 it up \ufffd'
      ? undefined
      : refuse(400, 'messages[1].reasoning_content: lone leading surrogate in hex escape');
  },
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
