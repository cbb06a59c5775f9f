import type { Dialect } from '../dialect.js';
import { ANSWER, DONE, raw } from '../wire.js';

export const errorWithoutEnvelope: Dialect = {
  name: 'The error in the stream is the chunk itself.',
  protocol: 'openai',
  server: 'vLLM',
  source: 'https://github.com/block/goose/pull/8031',
  script: (index) =>
    index === 0
      ? raw(
          'data: {"object":"error","message":"EngineCore encountered an issue.","type":"InternalServerError","code":500}\n\n',
          DONE,
        )
      : raw(...ANSWER),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated', 'reported'] },
};
