import type { Dialect } from '../dialect.js';
import { raw, STREAM_END, STREAM_START, textBlock } from '../wire.js';

export const noUsageAtStart: Dialect = {
  name: 'The first event has no usage.',
  protocol: 'anthropic',
  server: 'Antigravity Manager',
  source: 'https://github.com/lbjlaq/Antigravity-Manager/issues/2028',
  script: () =>
    raw(
      STREAM_START.replace(',"usage":{"input_tokens":20,"output_tokens":1}', ''),
      textBlock(0, 'Hello.'),
      STREAM_END('end_turn'),
    ),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
