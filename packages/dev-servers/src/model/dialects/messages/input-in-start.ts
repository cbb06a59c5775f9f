import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { anthropicStream } from '../wire.js';

export const inputInStart: Dialect = {
  name: 'The whole input of a call is in the start of its block.',
  protocol: 'anthropic',
  server: 'gateways that translate protocols',
  source: 'https://github.com/inflaborg/ccrelay/pull/119',
  script: (index) =>
    index > 0
      ? undefined
      : anthropicStream('tool_use', {
          start: { type: 'tool_use', id: 'toolu_1', name: 'web_search', input: { query: 'one' } },
        }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
