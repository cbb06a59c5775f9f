import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const limitedDays: Dialect = {
  name: 'A limit asks to wait for days.',
  protocol: 'both',
  server: 'OpenCode Go',
  source: 'https://github.com/earendil-works/pi/pull/4991',
  script: () =>
    refuse(429, 'Monthly usage limit reached. Resets in 16 days.', { headers: { 'retry-after': '1382400' } }),
  expected: { text: '', error: 'model_rate_limited', requests: 1, usage: [] },
};
