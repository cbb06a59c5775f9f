import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textGemma: Dialect = {
  name: 'A call is text with its own notation of arguments.',
  protocol: 'both',
  server: 'Gemma 4',
  source: 'https://github.com/ollama/ollama/blob/main/model/parsers/gemma4_test.go',
  script: textingOnce('<|tool_call>c', 'all:web_searc', 'h{query:<|"|>', 'one<|"|>}<too', 'l_call|>'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
