import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const argumentsNull: Dialect = {
  name: 'The first part of a call has arguments that are null.',
  protocol: 'openai',
  server: 'DeepSeek on DeepInfra',
  source: 'https://github.com/open-webui/open-webui/issues/27195',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'a' }, 'web_search', null)),
    toolCalls(call({ index: 0 }, undefined, '{"query":"one"}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
