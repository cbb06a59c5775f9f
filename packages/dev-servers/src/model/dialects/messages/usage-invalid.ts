import type { Dialect } from '../dialect.js';
import { raw, STREAM_END, STREAM_START, textBlock } from '../wire.js';

export const usageInvalid: Dialect = {
  name: 'Counts of tokens are texts, null or negative.',
  protocol: 'anthropic',
  server: 'Anthropic-compatible gateways',
  source: 'https://github.com/huggingface/tau/pull/617',
  script: () =>
    raw(
      STREAM_START.replace('"input_tokens":20', '"input_tokens":"20","cache_read_input_tokens":-3'),
      textBlock(0, 'Hello.'),
      STREAM_END('end_turn').replace('"output_tokens":5', '"output_tokens":null,"input_tokens":"20"'),
    ),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['estimated'] },
};
