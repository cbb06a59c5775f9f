import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textGemini: Dialect = {
  name: 'A call is code in a fence.',
  protocol: 'both',
  server: 'Gemma 3 and Gemini',
  source: 'https://github.com/mozilla-ai/any-llm/pull/1202',
  script: textingOnce('```tool_code', '\nprint(defau', 'lt_api.web_s', 'earch(query=', '"one"))\n```'),
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
