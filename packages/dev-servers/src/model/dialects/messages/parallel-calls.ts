import type { Dialect } from '../dialect.js';

export const parallelCalls: Dialect = {
  name: 'A response has text and two calls.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://platform.claude.com/docs/build-with-claude/streaming',
  script: (index) =>
    index > 0
      ? undefined
      : [
          { text: 'Let me see.' },
          {
            toolCalls: [
              { name: 'web_search', arguments: { query: 'one' } },
              { name: 'read_page', arguments: { url: 'two' } },
            ],
          },
          { usage: { prompt: 20, completion: 5 } },
        ],
  expected: {
    text: 'Let me see.',
    finish: 'calls',
    calls: [
      { name: 'web_search', input: { query: 'one' } },
      { name: 'read_page', input: { url: 'two' } },
    ],
    requests: 1,
    usage: ['reported'],
  },
};
