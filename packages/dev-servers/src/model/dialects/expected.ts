import type { DialectCall, DialectResult } from './dialect.js';

/** Result of a first step that has only these calls. */
export const onlyCalls = (...calls: DialectCall[]): DialectResult => ({
  text: '',
  finish: 'calls',
  calls,
  requests: 1,
  usage: ['reported'],
});

/** Result if the first step has only this text. */
export const onlyText = (text: string): DialectResult => ({
  text,
  finish: 'answered',
  requests: 1,
  usage: ['reported'],
});

/** Result if the first step is made again, because the first response is void. */
export const repeated = (text = 'Hello.'): DialectResult => ({
  text,
  finish: 'answered',
  requests: 2,
  usage: ['estimated', 'reported'],
});
