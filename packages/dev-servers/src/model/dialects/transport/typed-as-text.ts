import type { Dialect } from '../dialect.js';
import { answer } from '../wire.js';

export const typedAsText: Dialect = {
  name: 'The content type of the stream is text/plain.',
  protocol: 'both',
  server: 'gateways for Claude Code',
  source: 'https://github.com/xiaoliu10/claude-code-router-next/pull/45',
  script: () => [{ contentType: 'text/plain; charset=utf-8' }, ...answer('Hello.')],
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
