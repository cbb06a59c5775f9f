import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textChannelBare: Dialect = {
  name: 'A call is text in a channel without its tokens.',
  protocol: 'both',
  server: 'gpt-oss behind servers that remove special tokens',
  source: 'https://github.com/raullenchai/Rapid-MLX/issues/480',
  script: textingOnce('commentary t', 'o=functions.', 'web_search j', 'son{"query":', ' "one"}'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
