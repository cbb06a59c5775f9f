import type { DialectCall, DialectResult } from './dialect.js';

/** The result of a first step that has only these calls. */
export const onlyCalls = (...calls: DialectCall[]): DialectResult => ({
  text: '',
  finish: 'calls',
  calls,
  requests: 1,
  usage: ['reported'],
});
