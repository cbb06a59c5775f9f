import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const nameLate: Dialect = {
  name: 'The name of a call follows after its arguments.',
  protocol: 'openai',
  server: 'OpenAI-compatible providers of the AI SDK',
  source: 'https://github.com/vercel/ai/issues/14722',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'a' }, undefined, '{"query":')),
    toolCalls(call({ index: 0 }, 'web_search', '"one"}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
