import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { arrived, refuse } from '../wire.js';

export const thinking: Dialect = {
  name: 'Signed thinking of a step with calls must come back unchanged.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://github.com/simonw/llm-anthropic/pull/87',
  script(index, received) {
    if (index === 0) {
      return [
        { thinking: 'I must search.', signature: 'c2lnbmVk' },
        { thinking: 'Twice.', signature: 'dHdpY2U=' },
        { toolCalls: [{ name: 'web_search', arguments: { query: 'one' } }] },
        { usage: { prompt: 20, completion: 5 } },
      ];
    }
    const content = arrived(received).assistant['content'] as readonly Record<string, unknown>[];
    const blocks = content
      .filter(({ type }) => type === 'thinking')
      .map((block) => [block['thinking'], block['signature']]);
    const isWhole = JSON.stringify(blocks) === '[["I must search.","c2lnbmVk"],["Twice.","dHdpY2U="]]';
    return isWhole ? undefined : refuse(400, '`thinking` blocks in the latest assistant message cannot be modified.');
  },
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
