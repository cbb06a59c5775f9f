import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { ending } from '../wire.js';

export const finishMaxTokens: Dialect = {
  name: 'The output limit has the finish reason of another protocol.',
  protocol: 'both',
  server: 'gateways in front of Gemini',
  source: 'https://github.com/mozilla-ai/any-llm/pull/1202',
  script: ending('MAX_TOKENS', 'Half an ', 'ans'),
  expected: { ...onlyText('Half an ans'), finish: 'length' },
};
