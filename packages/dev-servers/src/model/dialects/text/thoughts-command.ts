import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsCommand: Dialect = {
  name: 'Thoughts and text are between tokens.',
  protocol: 'both',
  server: 'Command A Reasoning',
  source: 'https://docs.cohere.com/docs/reasoning',
  script: textingOnce('<|START_THINKING', '|>Hm.<|END_THINK', 'ING|><|START_RES', 'PONSE|>Hello.<|E', 'ND_RESPONSE|>'),
  expected: onlyText('Hello.'),
};
