import type { Dialect } from '../dialect.js';
import { packets, raw, STREAM_END, STREAM_START, textBlock, whole } from '../wire.js';

const BODIES = { openai: whole, anthropic: STREAM_START + textBlock(0, 'Hello.') + STREAM_END('end_turn') };

export const typedAsJsonLate: Dialect = {
  name: 'The content type of the stream is application/json, and it begins with blank lines and a comment.',
  protocol: 'both',
  server: 'gateways for Claude Code',
  source: 'https://github.com/xiaoliu10/claude-code-router-next/pull/44',
  script: (_index, { protocol }) => [
    { contentType: 'application/json' },
    ...raw(...packets('\ufeff\n\n: ping\n\n', 2), ...packets(BODIES[protocol], 3)),
  ],
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
