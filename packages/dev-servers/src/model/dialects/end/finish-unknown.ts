import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishUnknown: Dialect = {
  name: 'The finish reason is in no list.',
  protocol: 'both',
  server: 'gateways that pass on reasons of new models',
  source: 'https://github.com/anomalyco/opencode/issues/44092',
  script: endingOnce('paused_by_router', 'Half an ', 'ans'),
  expected: { ...onlyText('Half an ans'), finish: 'unknown' },
};
