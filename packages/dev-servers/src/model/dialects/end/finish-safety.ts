import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishSafety: Dialect = {
  name: 'The filter has the finish reason of another protocol.',
  protocol: 'both',
  server: 'gateways in front of Gemini',
  source: 'https://github.com/googleapis/python-genai/blob/main/google/genai/types.py',
  script: endingOnce('SAFETY', 'Half an ', 'ans'),
  expected: { ...onlyText('Half an ans'), finish: 'refused' },
};
