import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishUpperCase: Dialect = {
  name: 'The usual end is in upper case.',
  protocol: 'both',
  server: 'gateways in front of Gemini',
  source: 'https://github.com/mozilla-ai/any-llm/pull/1202',
  script: endingOnce('STOP', 'Hel', 'lo.'),
  expected: onlyText('Hello.'),
};
