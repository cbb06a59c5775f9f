import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsWithoutOpening: Dialect = {
  name: 'The thoughts only have a closing tag, because the opening one is in the prompt.',
  protocol: 'both',
  server: 'vLLM without a reasoning parser',
  source: 'https://github.com/vllm-project/vllm/issues/17144',
  script: textingOnce('The user g', 'reets.\nI g', 'reet back.', '\n</think>\n', '\nHello.'),
  expected: onlyText('Hello.'),
};
