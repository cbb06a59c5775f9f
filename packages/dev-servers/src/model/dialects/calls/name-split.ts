import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const nameSplit: Dialect = {
  name: 'The name of a call is split over chunks.',
  protocol: 'openai',
  server: 'Gemini, OpenAI-compatible endpoint',
  source: 'https://github.com/continuedev/continue/pull/5849',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'a' }, 'web_', '')),
    toolCalls(call({ index: 0 }, 'search', '')),
    toolCalls(call({ index: 0 }, undefined, '{"query":"one"}')),
    toolCalls(call({ index: 1, id: 'b' }, 'list', '')),
    toolCalls(call({ index: 1 }, '_pages', '')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }, { name: 'list_pages', input: {} }),
};
