import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const thoughtsGemma: Dialect = {
  name: 'Thoughts are in a channel with one token at each end.',
  protocol: 'both',
  server: 'Gemma 4',
  source: 'https://github.com/NousResearch/hermes-agent/pull/67632',
  script: textingOnce('<|channe', 'l>though', 't\nHm.<ch', 'annel|>H', 'ello.'),
  expected: onlyText('Hello.'),
};
