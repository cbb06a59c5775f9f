import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const noIndex: Dialect = {
  name: 'Parallel calls have no index.',
  protocol: 'openai',
  server: 'Gemini, OpenAI-compatible endpoint',
  source: 'https://github.com/THU-MAIC/OpenMAIC/issues/1556',
  script: (index) =>
    index > 0
      ? undefined
      : raw(
          toolCalls(call({ id: 'a' }, 'web_search', '{"query":"one"}')),
          toolCalls(call({ id: 'b' }, 'read_page', '{"url":"two"}')),
          ...FINISHED,
        ),
  expected: {
    text: '',
    finish: 'calls',
    calls: [
      { name: 'web_search', input: { query: 'one' } },
      { name: 'read_page', input: { url: 'two' } },
    ],
    requests: 1,
    usage: ['reported'],
  },
};
