import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishEosToken: Dialect = {
  name: 'The usual end has the finish reason eos_token.',
  protocol: 'both',
  server: 'Text Generation Inference',
  source: 'https://github.com/huggingface/text-generation-inference/pull/2344',
  script: endingOnce('eos_token', 'Hel', 'lo.'),
  expected: onlyText('Hello.'),
};
