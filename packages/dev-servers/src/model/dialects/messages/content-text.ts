import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { refuse } from '../wire.js';

export const contentText: Dialect = {
  name: 'The content of a whole message is a text.',
  protocol: 'anthropic',
  server: 'gateways that translate protocols',
  source: 'https://github.com/ollama/ollama/issues/14816',
  script: () =>
    refuse(200, '', {
      body: JSON.stringify({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        content: 'Hello.',
        stop_reason: 'end_turn',
        usage: { input_tokens: 20, output_tokens: 5 },
      }),
    }),
  expected: onlyText('Hello.'),
};
