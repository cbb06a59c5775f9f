import type { Dialect } from '../dialect.js';
import { repeated } from '../expected.js';
import { choice, DONE, raw } from '../wire.js';

export const finishNative: Dialect = {
  name: 'The usual end hides a failure of the provider, which a second field names.',
  protocol: 'openai',
  server: 'OpenRouter with Gemini',
  source: 'https://github.com/BerriAI/litellm/pull/23366',
  script: (index) =>
    index > 0
      ? undefined
      : raw(
          choice({ content: 'Half an ans' }),
          choice({}, 'stop', { native_finish_reason: 'MALFORMED_FUNCTION_CALL' }),
          DONE,
        ),
  expected: repeated('Done.'),
};
