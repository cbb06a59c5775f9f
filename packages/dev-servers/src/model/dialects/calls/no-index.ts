import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const noIndex: Dialect = {
  name: 'Parallel calls have no index.',
  protocol: 'openai',
  server: 'Gemini, OpenAI-compatible endpoint',
  source: 'https://github.com/THU-MAIC/OpenMAIC/issues/1556',
  script: rawOnce(
    toolCalls(call({ id: 'a' }, 'web_search', '{"query":"one"}')),
    toolCalls(call({ id: 'b' }, 'read_page', '{"url":"two"}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }, { name: 'read_page', input: { url: 'two' } }),
};
