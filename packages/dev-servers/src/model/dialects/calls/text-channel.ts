import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textChannel: Dialect = {
  name: 'A call is text in a channel.',
  protocol: 'both',
  server: 'gpt-oss behind servers without a parser',
  source: 'https://github.com/openai/harmony/blob/main/docs/format.md',
  script: textingOnce(
    '<|channel|>commentar',
    'y to=functions.web_s',
    'earch <|constrain|>j',
    'son<|message|>{"quer',
    'y": "one"}<|call|>',
  ),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
