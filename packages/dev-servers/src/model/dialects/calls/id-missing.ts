import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const idMissing: Dialect = {
  name: 'Calls have no id.',
  protocol: 'openai',
  server: 'StepFun step-router-v1',
  source: 'https://github.com/iOfficeAI/aionrs/pull/99',
  script: rawOnce(
    toolCalls(call({ index: 0 }, 'web_search', '{"query":"one"}')),
    toolCalls(call({ index: 1 }, 'read_page', '{"url":"two"}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }, { name: 'read_page', input: { url: 'two' } }),
};
