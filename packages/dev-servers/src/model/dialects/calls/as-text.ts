import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { choice, DONE, raw, STOP, usageChunk } from '../wire.js';

export const asText: Dialect = {
  name: 'A call is part of the text.',
  protocol: 'openai',
  server: 'SGLang with DeepSeek V3.2',
  source: 'https://github.com/sgl-project/sglang/pull/17320',
  script: (index) =>
    index > 0
      ? undefined
      : raw(
          choice({ content: '<tool_call>{"name": "web_search", ' }),
          choice({ content: '"arguments": {"query": "one"}}</tool_call>' }),
          STOP,
          usageChunk(20, 5),
          DONE,
        ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
