import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, choice, FINISHED, rawOnce } from '../wire.js';

export const singleObject: Dialect = {
  name: 'A chunk has one call instead of a list of calls.',
  protocol: 'openai',
  server: 'Text Generation Inference',
  source: 'https://github.com/huggingface/text-generation-inference/pull/2949',
  script: rawOnce(choice({ tool_calls: call({ index: 0, id: 'a' }, 'web_search', '{"query":"one"}') }), ...FINISHED),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
