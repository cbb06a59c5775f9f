import type { Dialect } from '../dialect.js';
import { answer, event, raw, STREAM_START } from '../wire.js';

export const overloadedBeforeText: Dialect = {
  name: 'An overload is an event in the stream.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://platform.claude.com/docs/build-with-claude/streaming',
  script: (index) =>
    index === 0
      ? raw(STREAM_START, event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }))
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated', 'reported'] },
};
