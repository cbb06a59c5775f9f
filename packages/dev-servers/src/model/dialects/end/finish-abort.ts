import type { Dialect } from '../dialect.js';
import { repeated } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishAbort: Dialect = {
  name: 'The server aborts the request in the text.',
  protocol: 'both',
  server: 'vLLM and SGLang',
  source: 'https://github.com/vllm-project/vllm/issues/57082',
  script: endingOnce('abort', 'Half an ans'),
  expected: repeated(),
};
