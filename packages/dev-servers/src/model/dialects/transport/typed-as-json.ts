import type { Dialect } from '../dialect.js';
import { answer } from '../wire.js';

export const typedAsJson: Dialect = {
  name: 'The content type of the stream is application/json.',
  protocol: 'both',
  server: 'vLLM behind the proxy of vLLM Ascend',
  source: 'https://github.com/vllm-project/vllm-ascend/pull/6985',
  script: () => [{ contentType: 'application/json' }, ...answer('Hello.')],
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
