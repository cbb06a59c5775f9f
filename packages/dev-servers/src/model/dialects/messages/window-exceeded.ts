import type { Dialect } from '../dialect.js';
import { raw, STREAM_END, STREAM_START, textBlock } from '../wire.js';

export const windowExceeded: Dialect = {
  name: 'The context window ends in the text.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://platform.claude.com/docs/en/api/handling-stop-reasons.md',
  script: () => raw(STREAM_START, textBlock(0, 'Hel'), STREAM_END('model_context_window_exceeded')),
  expected: { text: 'Hel', finish: 'length', requests: 1, usage: ['reported'] },
};
