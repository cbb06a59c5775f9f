import type { Dialect } from '../dialect.js';
import { call, DONE, raw, STOP, toolCalls, usageChunk } from '../wire.js';

export const finishStop: Dialect = {
  name: 'The finish reason of a response with calls is stop.',
  protocol: 'openai',
  server: 'Ollama and GPT-4o',
  source: 'https://github.com/ollama/ollama/pull/7963',
  script: (index) =>
    index > 0
      ? undefined
      : raw(toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query":"one"}')), STOP, usageChunk(20, 5), DONE),
  expected: {
    text: '',
    finish: 'calls',
    calls: [{ name: 'web_search', input: { query: 'one' } }],
    requests: 1,
    usage: ['reported'],
  },
};
