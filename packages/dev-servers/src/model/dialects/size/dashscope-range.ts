import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const dashscopeRange: Dialect = {
  name: 'The limit is the end of a range.',
  protocol: 'both',
  server: 'DashScope',
  source: 'https://github.com/QwenLM/Qwen-Agent/issues/615',
  script: () => refuse(400, '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]'),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 30720, requests: 1, usage: [] },
};
