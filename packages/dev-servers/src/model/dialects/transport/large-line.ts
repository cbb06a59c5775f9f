import type { Dialect } from '../dialect.js';
import { USAGE } from '../wire.js';

const text = 'x'.repeat(2 * 1024 * 1024);

export const largeLine: Dialect = {
  name: 'One line has 2 MiB.',
  protocol: 'both',
  server: 'xAI and OpenAI-compatible servers',
  source: 'https://github.com/SamSaffron/term-llm/pull/429',
  script: () => [{ text }, USAGE],
  expected: { text, finish: 'answered', requests: 1, usage: ['reported'] },
};
