import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const toolsOpenrouter: Dialect = {
  name: 'No provider of the model has tools, with status 404.',
  protocol: 'both',
  server: 'OpenRouter',
  source: 'https://github.com/bobrware/bobrchat/issues/60',
  script: (_index, { raw: body }) =>
    'tools' in body
      ? refuse(
          404,
          'No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection',
        )
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
