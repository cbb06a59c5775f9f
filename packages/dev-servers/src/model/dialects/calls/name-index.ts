import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const nameIndex: Dialect = {
  name: 'The name of a call has a namespace and an index.',
  protocol: 'both',
  server: 'Kimi K2',
  source: 'https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md',
  script: calling({ name: 'functions.web_search:0', arguments: { query: 'one' } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
