import type { Dialect } from '../dialect.js';
import { raw, STREAM_END, STREAM_START, textBlock } from '../wire.js';

export const noMessageStop: Dialect = {
  name: 'The stream ends after the stop reason.',
  protocol: 'anthropic',
  server: 'Anthropic-compatible gateways',
  source: 'https://github.com/use-agent-os/agent-os/pull/2271',
  script: () => raw(STREAM_START, textBlock(0, 'Hello.'), STREAM_END('end_turn').split('event: message_stop')[0] ?? ''),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
