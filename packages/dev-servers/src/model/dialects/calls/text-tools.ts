import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textTools: Dialect = {
  name: 'A call is within the tag that the request has for the list of tools.',
  protocol: 'both',
  server: 'Qwen2.5-Coder on vLLM',
  source: 'https://github.com/vllm-project/vllm/issues/32926',
  script: textingOnce('<to', 'ols>\n{"name": "web_sea', 'rch", "arguments": {"query": "one"}}\n</tools>'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
