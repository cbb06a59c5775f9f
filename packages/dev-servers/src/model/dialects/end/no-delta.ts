import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageChunk } from '../wire.js';

export const noDelta: Dialect = {
  name: 'The last choice has no delta.',
  protocol: 'openai',
  server: 'Azure OpenAI with asynchronous filters',
  source: 'https://github.com/langchain-ai/langchain/issues/18977',
  script: () =>
    raw(
      choice({ content: 'Hello.' }),
      STOP,
      choice(undefined, null, { content_filter_results: { hate: { filtered: false, severity: 'safe' } } }),
      usageChunk(20, 5),
      DONE,
    ),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
