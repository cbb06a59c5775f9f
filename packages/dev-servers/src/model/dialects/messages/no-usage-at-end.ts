import type { Dialect } from '../dialect.js';
import { raw, STREAM_END, STREAM_START, textBlock } from '../wire.js';

export const noUsageAtEnd: Dialect = {
  name: 'The last events have no usage.',
  protocol: 'anthropic',
  server: 'MiniMax',
  source: 'https://github.com/earendil-works/pi/issues/6567',
  script: () =>
    raw(STREAM_START, textBlock(0, 'Hello.'), STREAM_END('end_turn').replace(',"usage":{"output_tokens":5}', '')),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
