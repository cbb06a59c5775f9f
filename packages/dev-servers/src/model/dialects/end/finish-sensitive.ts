import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishSensitive: Dialect = {
  name: 'The filter has the finish reason sensitive.',
  protocol: 'both',
  server: 'Zhipu GLM',
  source: 'https://github.com/mozilla-ai/any-llm/blob/main/src/any_llm/providers/zai/utils.py',
  script: endingOnce('sensitive', 'Half an ', 'ans'),
  expected: { ...onlyText('Half an ans'), finish: 'refused' },
};
