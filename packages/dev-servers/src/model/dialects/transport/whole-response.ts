import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

const BODIES = {
  openai: {
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
  },
  anthropic: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Hello.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 20, output_tokens: 5 },
  },
};

export const wholeResponse: Dialect = {
  name: 'The response is a whole document instead of a stream.',
  protocol: 'both',
  server: 'proxies without streaming',
  source: 'https://github.com/NousResearch/hermes-agent/issues/21522',
  script: (_index, { protocol }) => refuse(200, '', { body: JSON.stringify(BODIES[protocol]) }),
  expected: {
    text: 'Hello.',
    finish: 'answered',
    requests: 1,
    usage: ['reported'],
    tokens: { prompt: 20, completion: 5 },
  },
};
