import type { Dialect } from '../dialect.js';
import { event, raw, STREAM_END, STREAM_START, textBlock } from '../wire.js';

export const unknownEvents: Dialect = {
  name: 'The stream has events of unknown types.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://platform.claude.com/docs/build-with-claude/streaming',
  script: () =>
    raw(
      STREAM_START,
      event('content_hint', { hint: 'new' }),
      textBlock(0, 'Hello.'),
      event('new_event'),
      STREAM_END('end_turn'),
    ),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
