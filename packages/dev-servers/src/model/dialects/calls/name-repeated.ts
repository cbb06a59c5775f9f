import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const nameRepeated: Dialect = {
  name: 'Each part of a call repeats its name.',
  protocol: 'openai',
  server: 'MiniMax M2.7 on NVIDIA NIM',
  source: 'https://github.com/NousResearch/hermes-agent/pull/11984',
  script: rawOnce(
    toolCalls(call({ index: 0, id: 'a' }, 'web_search', '{"query"')),
    toolCalls(call({ index: 0 }, 'web_search', ':"one"')),
    toolCalls(call({ index: 0 }, 'web_search', '}')),
    ...FINISHED,
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
