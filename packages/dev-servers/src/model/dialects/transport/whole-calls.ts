import type { Dialect } from '../dialect.js';
import { arrived, refuse } from '../wire.js';

const input = { query: 'one' };
const BODIES = {
  openai: {
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'I search.',
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'web_search', arguments: JSON.stringify(input) } },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
  },
  anthropic: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'I should search.', signature: 'c2lnbmF0dXJl' },
      { type: 'text', text: 'I search.' },
      { type: 'tool_use', id: 'a', name: 'web_search', input },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 20, output_tokens: 5 },
  },
};

export const wholeCalls: Dialect = {
  name: 'The response is a whole document with a text and a call.',
  protocol: 'both',
  server: 'proxies without streaming',
  source: 'https://github.com/NousResearch/hermes-agent/issues/21522',
  script(_index, received) {
    const { results, assistant } = arrived(received);
    if (!results) return refuse(200, '', { body: JSON.stringify(BODIES[received.protocol]) });
    const isSigned = JSON.stringify(assistant).includes('c2lnbmF0dXJl');
    return received.protocol === 'openai' || isSigned ? undefined : refuse(400, 'the thinking has no signature');
  },
  expected: {
    text: 'I search.',
    finish: 'calls',
    calls: [{ name: 'web_search', input }],
    requests: 1,
    usage: ['reported'],
  },
};
