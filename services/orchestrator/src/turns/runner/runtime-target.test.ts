import { expect, it } from '@jest/globals';
import { runtimeRow } from '../../../test/runtime-row.js';
import { RuntimeSuspended, targetOf } from './runtime-target.js';

const row = (more: Parameters<typeof runtimeRow>[1]) => runtimeRow(new Date(), more);

it('a ready runtime is called at its address', () => {
  expect(targetOf('w', row({ phase: 'Ready', address: 'http://runtime:1' }))).toEqual({
    workspaceId: 'w',
    address: 'http://runtime:1',
  });
});

it.each([['Pending'], ['Progressing'], ['Error']] as const)('a runtime that is %s has no target', (phase) => {
  expect(targetOf('w', row({ phase }))).toBeUndefined();
});

it.each([
  ['is suspended', { phase: 'Suspended' }],
  ['waits for its start', { phase: 'Progressing', reason: 'Queued' }],
] as const)('a turn waits without a time limit while its runtime %s', (_state, state) => {
  expect(() => targetOf('w', row(state))).toThrow(RuntimeSuspended);
});
