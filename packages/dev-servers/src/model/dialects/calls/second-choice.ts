import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, chunkOf, FINISHED, rawOnce } from '../wire.js';

export const secondChoice: Dialect = {
  name: 'A chunk has two choices: the text in the first, and the call in the second.',
  protocol: 'openai',
  server: 'GitHub Copilot with Claude',
  source: 'https://github.com/SWE-agent/mini-swe-agent/issues/804',
  script: rawOnce(
    chunkOf(
      { index: 0, delta: { content: 'I search.' }, finish_reason: null },
      {
        index: 1,
        delta: { tool_calls: [call({ index: 0, id: 'a' }, 'web_search', '{"query":"one"}')] },
        finish_reason: null,
      },
    ),
    ...FINISHED,
  ),
  expected: { ...onlyCalls({ name: 'web_search', input: { query: 'one' } }), text: 'I search.' },
};
