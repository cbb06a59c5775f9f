import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { textingOnce } from '../wire.js';

export const textWithWords: Dialect = {
  name: 'A call follows words for the user.',
  protocol: 'both',
  server: 'local models on Ollama',
  source: 'https://github.com/Gitlawb/openclaude/pull/1076',
  script: textingOnce(
    'I search.\n\n```js',
    'on\n{"name": "web',
    '_search", "argum',
    'ents": {"query":',
    ' "one"}}\n```',
  ),
  expected: { ...onlyCalls({ name: 'web_search', input: { query: 'one' } }), text: 'I search.' },
};
