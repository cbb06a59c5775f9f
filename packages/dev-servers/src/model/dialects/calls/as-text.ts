import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageChunk } from '../wire.js';

export const asText: Dialect = {
  name: 'A call is part of the text.',
  protocol: 'openai',
  server: 'SGLang with DeepSeek V3.2',
  source: 'https://github.com/sgl-project/sglang/pull/17320',
  script: () =>
    raw(
      choice({ content: '<tool_call>{"name": "web_search", ' }),
      choice({ content: '"arguments": {}}</tool_call>' }),
      STOP,
      usageChunk(20, 5),
      DONE,
    ),
  expected: {
    text: '<tool_call>{"name": "web_search", "arguments": {}}</tool_call>',
    finish: 'answered',
    requests: 1,
    usage: ['reported'],
  },
};
