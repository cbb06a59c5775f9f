import type { Dialect } from '../dialect.js';
import { answer } from '../wire.js';

export const noContentType: Dialect = {
  name: 'The stream has no content type.',
  protocol: 'both',
  server: 'NEAR AI, and Codex behind New API',
  source: 'https://github.com/nearai/private-ml-sdk/pull/20',
  script: () => [{ contentType: undefined }, ...answer('Hello.')],
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
