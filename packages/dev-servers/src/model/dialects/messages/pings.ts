import type { Dialect } from '../dialect.js';
import { answer } from '../wire.js';

export const pings: Dialect = {
  name: 'Pings precede the text for longer than the limit of silence.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://platform.claude.com/docs/build-with-claude/streaming',
  script: () => [
    ...Array.from({ length: 24 }, () => [{ ping: true as const }, { delayMs: 50 }]).flat(),
    ...answer('Hello.'),
  ],
  silenceMs: 1_000,
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
