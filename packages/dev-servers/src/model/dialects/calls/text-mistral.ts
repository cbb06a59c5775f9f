import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textMistral: Dialect = {
  name: 'A call is text after a token with its name.',
  protocol: 'both',
  server: 'Ministral and Mistral Large 3',
  source: 'https://github.com/ollama/ollama/blob/main/model/parsers/ministral_test.go',
  script: textingOnce('[TOOL_CAL', 'LS]web_se', 'arch[ARGS', ']{"query"', ': "one"}'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
