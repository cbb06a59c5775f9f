import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const toolChoice: Dialect = {
  name: 'No provider of the model has a choice of tools.',
  protocol: 'openai',
  server: 'OpenRouter',
  source: 'https://github.com/zed-industries/zed/issues/36094',
  script: (_index, { raw: body }) =>
    'tool_choice' in body
      ? refuse(
          404,
          "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing",
        )
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
