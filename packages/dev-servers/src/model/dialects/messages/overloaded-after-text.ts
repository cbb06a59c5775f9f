import type { Dialect } from '../dialect.js';
import { answer } from '../wire.js';

export const overloadedAfterText: Dialect = {
  name: 'An overload follows the beginning of the text.',
  protocol: 'anthropic',
  server: 'Anthropic',
  source: 'https://github.com/anthropics/anthropic-sdk-python/issues/688',
  script: (index) =>
    index === 0 ? [{ text: 'Hel' }, { streamError: { status: 529, message: 'Overloaded' } }] : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated', 'reported'] },
};
