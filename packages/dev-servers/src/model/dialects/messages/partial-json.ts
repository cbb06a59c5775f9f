import type { Dialect } from '../dialect.js';
import { anthropicStream } from '../wire.js';

export const partialJson: Dialect = {
  name: 'The input of a tool comes in many parts, the first of them empty.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://platform.claude.com/docs/en/api/messages-streaming',
  script: (index) =>
    index > 0
      ? undefined
      : anthropicStream('tool_use', {
          start: { type: 'tool_use', id: 'toolu_1', name: 'web_search', input: {} },
          deltas: ['', '{"qu', 'ery"', ': "o', 'ne', '"}'].map((part) => ({
            type: 'input_json_delta',
            partial_json: part,
          })),
        }),
  expected: {
    text: '',
    finish: 'calls',
    calls: [{ name: 'web_search', input: { query: 'one' } }],
    requests: 1,
    usage: ['reported'],
    tokens: { prompt: 20, completion: 5 },
  },
};
