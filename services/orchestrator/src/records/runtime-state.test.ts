import { describe, expect, it } from '@jest/globals';
import { runtimeRow } from '../../test/runtime-row.js';
import type { RuntimeObservation } from '../runtimes/drivers/driver.js';
import {
  assumeObservation,
  changesOf,
  isSettled,
  needsReconcile,
  nextState,
  secondsToReady,
  msUntilIdle,
} from './runtime-state.js';
import type { RuntimeRow } from './runtimes.store.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const ago = (ms: number): Date => new Date(NOW.getTime() - ms);
const ADDRESS = 'http://127.0.0.1:42618';
const row = (more: Partial<RuntimeRow> = {}): RuntimeRow => runtimeRow(NOW, more);
const ready: RuntimeObservation = { phase: 'Ready', reason: '', address: ADDRESS, current: true };
const suspended: RuntimeObservation = { phase: 'Suspended', reason: 'Suspended', address: null, current: true };
const POD = 'http://10.0.0.1:42618';
const READY = {
  phase: 'Ready' as const,
  address: ADDRESS,
  verified: true,
  identified_at: new Date(0),
  instance_id: 'i',
};

describe('the next state of a runtime', () => {
  it('is Ready and verified after the runtime answers Identify', () => {
    expect(nextState(row({ failures: 3 }), ready, 'i', NOW)).toEqual({
      phase: 'Ready',
      reason: '',
      address: ADDRESS,
      failures: 0,
      verified: true,
      identified_at: NOW,
      instance_id: 'i',
      silent_since: null,
    });
  });

  it('is Progressing while the runtime has not responded yet', () => {
    expect(nextState(row(), ready, null, NOW)).toEqual({
      phase: 'Progressing',
      reason: 'NotAnswering',
      address: ADDRESS,
      failures: 1,
      silent_since: NOW,
    });
    const silent = row({ phase: 'Progressing', reason: 'NotAnswering', failures: 4, silent_since: ago(9) });
    expect(nextState(silent, ready, null, NOW)).toMatchObject({ failures: 5, silent_since: ago(9) });
  });

  it('stays Ready when the runtime stops responding, and stores since when', () => {
    expect(nextState(row(READY), ready, null, NOW)).toEqual({ reason: 'NotAnswering', failures: 1, silent_since: NOW });
    const silent = row({ ...READY, reason: 'NotAnswering', failures: 4, silent_since: ago(9) });
    expect(nextState(silent, ready, null, NOW)).toEqual({ reason: 'NotAnswering', failures: 5, silent_since: ago(9) });
  });

  it('is Progressing when the runtime has not responded at a new address', () => {
    expect(nextState(row({ ...READY, address: 'http://127.0.0.1:1' }), ready, null, NOW)).toMatchObject({
      phase: 'Progressing',
      address: ADDRESS,
    });
  });

  it.each(['Pending', 'Progressing', 'Error', 'Deleting'] as const)(
    'is %s with the reason that the driver observes',
    (phase) => {
      const observed: RuntimeObservation = { phase, reason: 'Because', address: null, current: true };
      expect(nextState(row({ ...READY, failures: 1 }), observed, null, NOW)).toEqual({
        phase,
        reason: 'Because',
        address: null,
        failures: 1,
        silent_since: null,
        // The runtime was healthy until now: the timeout for waiting turns starts at this time.
        identified_at: NOW,
      });
    },
  );

  it('counts consecutive equal observations, and restarts the count when they change', () => {
    const observed: RuntimeObservation = { phase: 'Progressing', reason: 'Starting', address: null, current: true };
    const starting = row({ phase: 'Progressing', reason: 'Starting', failures: 9 });
    expect(nextState(starting, observed, null, NOW).failures).toBe(10);
    expect(nextState(starting, ready, null, NOW).failures).toBe(1);
  });

  it('accepts another instance at the same address', () => {
    expect(nextState(row(READY), ready, 'another', NOW)).toMatchObject({
      phase: 'Ready',
      instance_id: 'another',
      identified_at: NOW,
    });
  });

  it('is Suspended on request, without an address and without failures', () => {
    const before = row({ ...READY, desired: 'suspended', phase: 'Suspended' });
    expect(nextState(before, suspended, null, NOW)).toEqual({
      phase: 'Suspended',
      reason: '',
      address: null,
      failures: 0,
      silent_since: null,
    });
  });

  it('is Suspended by an operator, and measures the time to ready from the resume by the operator', () => {
    const before = row({ ...READY, wanted_at: ago(60_000) });
    const suspendedByOperator = {
      phase: 'Suspended',
      reason: 'Held',
      address: null,
      failures: 0,
      silent_since: null,
    } as const;
    expect(nextState(before, suspended, null, NOW)).toEqual(suspendedByOperator);
    const resumed = nextState(
      { ...before, ...suspendedByOperator },
      { ...ready, phase: 'Progressing', address: null },
      null,
      NOW,
    );
    expect(resumed).toMatchObject({ phase: 'Progressing', wanted_at: NOW });
    expect(nextState({ ...before, ...suspendedByOperator }, undefined, null, NOW)).toMatchObject({ wanted_at: NOW });
  });

  it('is Progressing after a resume while the observation is still of the suspended pod', () => {
    const resumed = row({ ...READY, phase: 'Suspended', address: null });
    expect(nextState(resumed, { ...ready, current: false }, 'i', NOW)).toMatchObject({ phase: 'Progressing' });
    expect(nextState(resumed, ready, 'i', NOW)).toMatchObject({ phase: 'Ready' });
  });

  it('stays Ready while changed settings are applied', () => {
    expect(nextState(row(READY), { ...ready, current: false }, 'i', NOW)).toMatchObject({ phase: 'Ready' });
  });
});

describe('while the platform is unreachable', () => {
  it('a Ready runtime is assumed to be Ready', () => {
    expect(assumeObservation(row(READY))).toEqual({ ...ready, assumed: true });
  });

  it.each(['Pending', 'Progressing', 'Suspended', 'Error', 'Deleting'] as const)(
    'no state is assumed for a runtime that is %s, and only the outage is stored',
    (phase) => {
      const before = row({ phase });
      expect(assumeObservation(before)).toBeUndefined();
      expect(nextState(before, undefined, null, NOW)).toEqual({ reason: 'PlatformUnreachable', failures: 1 });
    },
  );
});

describe('the time until the idle limit', () => {
  it.each([
    ['is 0 if running was requested that long ago', { wanted_at: ago(1_000) }, 1_000, 0],
    ['is the rest of the limit before that', { wanted_at: ago(999) }, 1_000, 1],
    ['is infinite if suspension is disabled', { wanted_at: ago(1_000_000) }, 0, Infinity],
    [
      'is infinite if the desired state is suspended',
      { wanted_at: ago(1), desired: 'suspended' as const },
      1,
      Infinity,
    ],
  ])('%s', (_what, more, limitMs, expected) => {
    expect(msUntilIdle(row(more), limitMs, NOW)).toBe(expected);
  });
});

describe('isSettled', () => {
  const wasReady = row(READY);
  const isSuspended = row({ desired: 'suspended', phase: 'Suspended' });
  const starting: RuntimeObservation = { phase: 'Progressing', reason: 'Starting', address: null, current: true };
  const STARTS = { phase: 'Progressing', reason: 'Starting', failures: 1 } as const;
  const rollout = (requested: boolean, granted: boolean) => ({ ...ready, rollout: { requested, granted } });
  it.each<[string, RuntimeRow, RuntimeObservation | undefined, boolean]>([
    ['is true for a Ready runtime at its address', wasReady, ready, true],
    ['is false after the address changed', wasReady, { ...ready, address: 'http://127.0.0.1:1' }, false],
    ['is false for a Ready runtime that is starting again', wasReady, starting, false],
    [
      'is false for a runtime that does not respond',
      row({ ...READY, reason: 'NotAnswering', failures: 1 }),
      ready,
      false,
    ],
    ['is false for a runtime that does not exist', wasReady, undefined, false],
    ['is false if the observation is outdated', wasReady, { ...ready, outdated: true }, false],
    ['is false if deletion is requested', row({ ...READY, desired: 'deleted' }), ready, false],
    ['is true for a suspended runtime that is to be suspended', isSuspended, suspended, true],
    ['is false for a running runtime that is to be suspended', isSuspended, ready, false],
    [
      'is true while an operator has suspended the runtime',
      row({ phase: 'Suspended', reason: 'Held' }),
      suspended,
      true,
    ],
    ['is false when an operator suspends the runtime', wasReady, suspended, false],
    ['is false when the operator resumes the runtime', row({ phase: 'Suspended', reason: 'Held' }), starting, false],
    [
      'is true while the runtime starts with the same reason',
      row({ phase: 'Progressing', reason: 'Starting', failures: 3 }),
      starting,
      true,
    ],
    [
      'is true for a starting runtime that responds at its pod',
      row({ ...READY, address: POD }),
      { ...starting, startingAddress: POD },
      true,
    ],
    [
      'is false for a starting runtime whose pod has another address',
      row({ ...READY, address: 'http://10.0.0.2:1' }),
      { ...starting, startingAddress: POD },
      false,
    ],
    ['is false when the reason changes', row({ phase: 'Progressing', reason: 'Pulling' }), starting, false],
    ['is false before the rollout of a pending revision is requested', wasReady, rollout(false, false), false],
    ['is true while a requested rollout is not granted', wasReady, rollout(true, false), true],
    ['is false after the rollout is granted', wasReady, rollout(true, true), false],
    [
      'is false after the rollout is complete',
      row({ desired: 'suspended', phase: 'Suspended', reason: 'NewRevision' }),
      suspended,
      false,
    ],
  ])('%s', (_what, before, observed, expected) => {
    expect(isSettled(before, observed, NOW)).toBe(expected);
  });

  it.each<[string, Partial<RuntimeRow>, boolean, RuntimeObservation, boolean]>([
    ['a turn waits for a suspended runtime', { desired: 'suspended', phase: 'Suspended' }, true, suspended, true],
    ['no turn waits for a suspended runtime', { desired: 'suspended', phase: 'Suspended' }, false, suspended, false],
    ['a turn waits, and the pod has an address', STARTS, true, { ...starting, startingAddress: POD }, true],
    ['no turn waits, and the pod has an address', STARTS, false, { ...starting, startingAddress: POD }, false],
    ['a turn waits, and the pod has no address', STARTS, true, starting, false],
  ])('needs a reconcile or not: %s', (_what, more, turnWaits, observed, expected) => {
    expect(needsReconcile({ ...row(more), turnWaits }, observed, NOW)).toBe(expected);
  });

  it('changesOf returns only the fields that differ, and compares dates by value', () => {
    const before = row({ ...READY, failures: 2 });
    const update = { phase: 'Ready', identified_at: new Date(0), failures: 0, silent_since: NOW } as const;
    expect(changesOf(before, update)).toEqual({ failures: 0, silent_since: NOW });
  });
});

describe('the time to ready', () => {
  const identified = { phase: 'Ready' as const, identified_at: NOW };
  it.each([
    ['is measured from the sign-up', { wanted_at: ago(1_500) }, identified, 1.5],
    ['is measured from the resume', { identified_at: ago(9_000), wanted_at: ago(2_000) }, identified, 2],
    [
      'is undefined for a runtime that recovers without a request',
      { identified_at: ago(1), wanted_at: ago(9) },
      identified,
      undefined,
    ],
    ['is undefined for a runtime that was Ready', { ...READY, wanted_at: ago(9) }, identified, undefined],
    [
      'is undefined for a runtime that is not Ready',
      { wanted_at: ago(9) },
      { phase: 'Progressing' as const },
      undefined,
    ],
    ['is never negative', { wanted_at: ago(-5) }, identified, 0],
  ])('%s', (_what, more, next, seconds) => {
    expect(secondsToReady(row(more), next)).toBe(seconds);
  });
});

it('an idle runtime is never due without an idle limit', () => {
  expect(msUntilIdle(row({ desired: 'running', wanted_at: ago(365 * 86_400_000) }), 0, NOW)).toBe(Infinity);
});
