import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const indexFromOne: Dialect = {
  name: 'Indexes of calls begin at 1 and have gaps.',
  protocol: 'openai',
  server: 'LiteLLM in front of the Responses API',
  source: 'https://github.com/pipecat-ai/pipecat/issues/4987',
  script: rawOnce(
    toolCalls(call({ index: 1, id: 'a' }, 'web_search', '')),
    toolCalls(call({ index: 1 }, undefined, '{"query":"one"}')),
    toolCalls(call({ index: 3, id: 'b' }, 'read_page', '{"url":')),
    toolCalls(call({ index: 3 }, undefined, '"two"}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }, { name: 'read_page', input: { url: 'two' } }),
};
