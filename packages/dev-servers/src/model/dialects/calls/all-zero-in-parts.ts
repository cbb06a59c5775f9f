import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const allZeroInParts: Dialect = {
  name: 'All calls have the index 0, and the parts of their arguments have an empty id.',
  protocol: 'openai',
  server: 'vLLM, some tool parsers',
  source: 'https://github.com/InternLM/lmdeploy/issues/3412',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'a' }, 'web_search', '')),
    toolCalls(call({ index: 0, id: '' }, undefined, '{"query":')),
    toolCalls(call({ index: 0, id: '' }, undefined, '"one"}')),
    toolCalls(call({ index: 0, id: 'b' }, 'read_page', '')),
    toolCalls(call({ index: 0, id: '' }, undefined, '{"url":"two"}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }, { name: 'read_page', input: { url: 'two' } }),
};
