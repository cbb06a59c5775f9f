import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const nameMcp: Dialect = {
  name: 'The name of a call has the name of a server.',
  protocol: 'both',
  server: 'Claude behind routes of Claude Code',
  source: 'https://github.com/NousResearch/hermes-agent/pull/16967',
  script: calling({ name: 'mcp__uswarm__web_search', arguments: { query: 'one' } }),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
