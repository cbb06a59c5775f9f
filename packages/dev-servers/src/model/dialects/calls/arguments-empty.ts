import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { call, FINISHED, rawOnce, toolCalls } from '../wire.js';

export const argumentsEmpty: Dialect = {
  name: 'The arguments of a call without arguments are an empty text.',
  protocol: 'openai',
  server: 'Claude through OpenAI-compatible providers',
  source: 'https://github.com/vercel/ai/issues/6687',
  script: rawOnce(toolCalls(call({ index: 0, id: 'a' }, 'list_pages', '')), ...FINISHED),
  expected: onlyCalls({ name: 'list_pages', input: {} }),
};
