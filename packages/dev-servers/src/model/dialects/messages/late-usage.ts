import type { Dialect } from '../dialect.js';
import { STREAM_END, STREAM_START, textBlock } from '../wire.js';

export const lateUsage: Dialect = {
  name: 'The usage of the prompt follows at the end.',
  protocol: 'anthropic',
  server: 'Anthropic and Anthropic-compatible servers',
  source: 'https://platform.claude.com/docs/build-with-claude/streaming',
  script: () => [
    { raw: STREAM_START.replace('"input_tokens":20', '"input_tokens":0') },
    { raw: textBlock(0, 'Hello.') },
    { raw: STREAM_END('end_turn').replace('{"output_tokens":5}', '{"input_tokens":20,"output_tokens":5}') },
    { end: true },
  ],
  expected: {
    text: 'Hello.',
    finish: 'answered',
    requests: 1,
    usage: ['reported'],
    tokens: { prompt: 20, completion: 5 },
  },
};
