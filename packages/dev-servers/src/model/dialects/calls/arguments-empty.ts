import type { Dialect } from '../dialect.js';
import { call, FINISHED, raw, toolCalls } from '../wire.js';

export const argumentsEmpty: Dialect = {
  name: 'The arguments of a call without arguments are an empty text.',
  protocol: 'openai',
  server: 'Claude through OpenAI-compatible providers',
  source: 'https://github.com/vercel/ai/issues/6687',
  script: (index) =>
    index > 0 ? undefined : raw(toolCalls(call({ index: 0, id: 'a' }, 'list_pages', '')), ...FINISHED),
  expected: {
    text: '',
    finish: 'calls',
    calls: [{ name: 'list_pages', input: {} }],
    requests: 1,
    usage: ['reported'],
  },
};
