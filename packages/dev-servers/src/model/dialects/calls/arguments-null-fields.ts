import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { calling } from '../wire.js';

export const argumentsNullFields: Dialect = {
  name: 'Optional arguments are null.',
  protocol: 'both',
  server: 'OpenAI with strict schemas',
  source: 'https://github.com/coder/xum/pull/3821',
  script: calling({ name: 'read_page', arguments: { url: 'one', format: null, depth: null } }),
  expected: onlyCalls({ name: 'read_page', input: { url: 'one' } }),
};
