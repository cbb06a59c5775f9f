import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const windowAnthropic: Dialect = {
  name: 'A prompt that is too large is refused with a text only.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://github.com/earendil-works/pi/pull/5929',
  script: () => refuse(400, 'prompt is too long: 200082 tokens > 200000 maximum'),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, requests: 1, usage: [] },
};
