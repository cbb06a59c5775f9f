import type { Dialect } from '../dialect.js';
import { ANSWER, choice, packets, raw, STREAM_END, STREAM_START, textBlock } from '../wire.js';

const TEXT = 'Grüße 🦙.';
const BODIES = {
  openai: [choice({ content: TEXT }), ...ANSWER.slice(1)],
  anthropic: [STREAM_START, textBlock(0, TEXT), STREAM_END('end_turn')],
};

export const singleBytes: Dialect = {
  name: 'Each byte is a packet, which splits characters and line ends.',
  protocol: 'both',
  server: 'any server behind a proxy',
  source: 'https://github.com/rexxars/eventsource-parser/issues/17',
  script: (_index, { protocol }) => raw(...packets(BODIES[protocol].join('').replaceAll('\n', '\r\n'), 1)),
  expected: { text: TEXT, finish: 'answered', requests: 1, usage: ['reported'] },
};
