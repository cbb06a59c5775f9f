import type { Dialect } from '../dialect.js';
import { raw, whole } from '../wire.js';

export const crlf: Dialect = {
  name: 'Lines end with CR and LF.',
  protocol: 'openai',
  server: 'Azure OpenAI',
  source: 'https://github.com/Continuum-AI-Corp/OrcaRouter-Lite/pull/98',
  script: () => raw(whole.replaceAll('\n', '\r\n')),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
