import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { choice, FINISHED, rawOnce } from '../wire.js';

export const callsInContent: Dialect = {
  name: 'The call is a block of the content.',
  protocol: 'openai',
  server: 'LangChain in front of Claude',
  source: 'https://github.com/langchain-ai/langchain/pull/30128',
  script: rawOnce(
    choice({ content: [{ type: 'tool_use', id: 'a', name: 'web_search', input: { query: 'one' } }] }),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
