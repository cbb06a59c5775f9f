import type { Dialect } from '../dialect.js';
import { choice, FINISHED, raw } from '../wire.js';

export const finishWithoutCalls: Dialect = {
  name: 'The finish reason promises calls, but there are none.',
  protocol: 'openai',
  server: 'vLLM',
  source: 'https://github.com/vllm-project/vllm/issues/53255',
  script: () => raw(choice({ content: 'Hello.', tool_calls: [] }), ...FINISHED),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
