import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const volcengineSequence: Dialect = {
  name: 'The limit is the value of a parameter of the server.',
  protocol: 'openai',
  server: 'Volcengine',
  source: 'https://github.com/AsyncFuncAI/deepwiki-open/issues/59',
  script: () =>
    refuse(400, 'Input length of input_ids is `4498` and exceed max_sequence_length: `4096`! Request id: 0217', {
      code: 'InvalidParameter',
    }),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 4096, requests: 1, usage: [] },
};
