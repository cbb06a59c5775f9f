import type { Dialect } from '../dialect.js';
import { ANSWER, choice, raw } from '../wire.js';

export const errorAfterText: Dialect = {
  name: 'An error follows the beginning of the text.',
  protocol: 'openai',
  server: 'OpenRouter',
  source: 'https://openrouter.ai/docs/api_reference/streaming',
  script: (index) =>
    index === 0
      ? raw(
          choice({ content: 'Hel' }),
          choice({ content: '' }, 'error').replace(
            '{"id"',
            '{"error":{"code":502,"message":"Provider disconnected"},"id"',
          ),
        )
      : raw(...ANSWER),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated', 'reported'] },
};
