import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { anthropicStream } from '../wire.js';

export const noInput: Dialect = {
  name: 'The input of a tool without arguments has one empty part.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://platform.claude.com/docs/build-with-claude/streaming',
  script: (index) =>
    index > 0
      ? undefined
      : anthropicStream('tool_use', {
          start: { type: 'tool_use', id: 'toolu_1', name: 'list_pages', input: {} },
          deltas: [{ type: 'input_json_delta', partial_json: '' }],
        }),
  expected: onlyCalls({ name: 'list_pages', input: {} }),
};
