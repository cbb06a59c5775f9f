import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textKimi: Dialect = {
  name: 'A call is text in a section between tokens.',
  protocol: 'both',
  server: 'Kimi K2',
  source: 'https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md',
  script: textingOnce(
    '<|tool_calls_section_begin|><|to',
    'ol_call_begin|>functions.web_sea',
    'rch:0<|tool_call_argument_begin|',
    '>{"query": "one"}<|tool_call_end',
    '|><|tool_calls_section_end|>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
