import type { Dialect } from '../dialect.js';
import { ANSWER, raw } from '../wire.js';

export const errorBeforeText: Dialect = {
  name: 'An error follows status 200 before the text.',
  protocol: 'openai',
  server: 'OpenAI-compatible servers in front of vLLM and SGLang',
  source: 'https://github.com/block/goose/pull/8031',
  script: (index) =>
    index === 0 ? raw('data: {"error":{"message":"Internal server error","type":"server_error"}}\n\n') : raw(...ANSWER),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated', 'reported'] },
};
