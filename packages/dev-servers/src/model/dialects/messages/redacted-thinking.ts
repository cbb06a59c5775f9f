import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { arrived, refuse } from '../wire.js';

export const redactedThinking: Dialect = {
  name: 'Encrypted thinking must come back unchanged.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://github.com/maximhq/bifrost/issues/4942',
  script(index, received) {
    if (index === 0) {
      return [
        { redactedThinking: 'ZW5jcnlwdGVk' },
        { toolCalls: [{ name: 'web_search', arguments: { query: 'one' } }] },
        { usage: { prompt: 20, completion: 5 } },
      ];
    }
    const content = arrived(received).assistant['content'] as readonly Record<string, unknown>[];
    const isWhole = content.some(({ type, data }) => type === 'redacted_thinking' && data === 'ZW5jcnlwdGVk');
    return isWhole
      ? undefined
      : refuse(400, '`redacted_thinking` blocks in the latest assistant message cannot be modified.');
  },
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
