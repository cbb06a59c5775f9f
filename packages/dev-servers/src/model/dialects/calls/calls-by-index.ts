import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, choice, FINISHED, rawOnce } from '../wire.js';

export const callsByIndex: Dialect = {
  name: 'The calls of a chunk are an object with their indexes.',
  protocol: 'openai',
  server: 'proxies written in PHP and Lua',
  source: 'https://github.com/huggingface/text-generation-inference/pull/2949',
  script: rawOnce(
    choice({ tool_calls: { 0: call({ index: 0, id: 'a' }, 'web_search', '{"query":"one"}') } }),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
