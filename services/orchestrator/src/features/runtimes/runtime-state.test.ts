import { describe, expect, it } from '@jest/globals';
import { runtimeRow } from '../../../test/runtime-row.js';
import type { RuntimeObservation } from './drivers/driver.js';
import { assumeObservation, changesOf, isSettled, nextState, secondsToReady, msUntilIdle } from './runtime-state.js';
import type { RuntimeRow } from './runtimes.store.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const ago = (ms: number): Date => new Date(NOW.getTime() - ms);
const ADDRESS = 'http://127.0.0.1:42618';
const row = (more: Partial<RuntimeRow> = {}): RuntimeRow => runtimeRow(NOW, more);
const ready: RuntimeObservation = { phase: 'Ready', reason: '', address: ADDRESS, current: true };
const suspended: RuntimeObservation = { phase: 'Suspended', reason: 'Suspended', address: null, current: true };
const READY = {
  phase: 'Ready' as const,
  address: ADDRESS,
  verified: true,
  identified_at: new Date(0),
  instance_id: 'i',
};

describe('the next state of a runtime', () => {
  it('is Ready and verified once it named itself', () => {
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

  it('is Progressing while it runs and has not answered yet', () => {
    expect(nextState(row(), ready, null, NOW)).toEqual({
      phase: 'Progressing',
      reason: 'NotAnswering',
      address: ADDRESS,
      failures: 1,
      silent_since: null,
    });
  });

  it('stays Ready when it does not answer, and says since when', () => {
    expect(nextState(row(READY), ready, null, NOW)).toEqual({ reason: 'NotAnswering', failures: 1, silent_since: NOW });
    const silent = row({ ...READY, reason: 'NotAnswering', failures: 4, silent_since: ago(9) });
    expect(nextState(silent, ready, null, NOW)).toEqual({ reason: 'NotAnswering', failures: 5, silent_since: ago(9) });
  });

  it('is Progressing again when it moved and has not answered at the new place', () => {
    expect(nextState(row({ ...READY, address: 'http://127.0.0.1:1' }), ready, null, NOW)).toMatchObject({
      phase: 'Progressing',
      address: ADDRESS,
    });
  });

  it.each(['Pending', 'Progressing', 'Error', 'Deleting'] as const)(
    'is %s when the driver sees that, with its reason',
    (phase) => {
      const observed: RuntimeObservation = { phase, reason: 'Because', address: null, current: true };
      expect(nextState(row({ ...READY, failures: 1 }), observed, null, NOW)).toEqual({
        phase,
        reason: 'Because',
        address: null,
        failures: 1,
        silent_since: null,
        // It was well until now: turns that wait for it are given time from here.
        identified_at: NOW,
      });
    },
  );

  it('counts the looks that find it the same, and begins anew with a change, so that the next look comes soon', () => {
    const observed: RuntimeObservation = { phase: 'Progressing', reason: 'Starting', address: null, current: true };
    const starting = row({ phase: 'Progressing', reason: 'Starting', failures: 9 });
    expect(nextState(starting, observed, null, NOW).failures).toBe(10);
    expect(nextState(starting, ready, null, NOW).failures).toBe(1);
  });

  it('takes over another instance at the same place', () => {
    expect(nextState(row(READY), ready, 'another', NOW)).toMatchObject({
      phase: 'Ready',
      instance_id: 'another',
      identified_at: NOW,
    });
  });

  it('is Suspended when that is wanted, without an address, and well', () => {
    const before = row({ ...READY, desired: 'suspended', phase: 'Suspended' });
    expect(nextState(before, suspended, null, NOW)).toEqual({
      phase: 'Suspended',
      reason: '',
      address: null,
      failures: 0,
      silent_since: null,
    });
  });

  it('is Suspended and held when it should run, and the time to ready counts from its release', () => {
    const before = row({ ...READY, wanted_at: ago(60_000) });
    const held = { phase: 'Suspended', reason: 'Held', address: null, failures: 0, silent_since: null } as const;
    expect(nextState(before, suspended, null, NOW)).toEqual(held);
    const released = nextState({ ...before, ...held }, { ...ready, phase: 'Progressing', address: null }, null, NOW);
    expect(released).toMatchObject({ phase: 'Progressing', wanted_at: NOW });
    expect(nextState({ ...before, ...held }, undefined, null, NOW)).toMatchObject({ wanted_at: NOW });
  });

  it('does not take one that is about to go for one that was woken', () => {
    const woken = row({ ...READY, phase: 'Suspended', address: null });
    expect(nextState(woken, { ...ready, current: false }, 'i', NOW)).toMatchObject({ phase: 'Progressing' });
    expect(nextState(woken, ready, 'i', NOW)).toMatchObject({ phase: 'Ready' });
  });

  it('stays Ready when only other settings are on their way', () => {
    expect(nextState(row(READY), { ...ready, current: false }, 'i', NOW)).toMatchObject({ phase: 'Ready' });
  });
});

describe('while the platform cannot be asked', () => {
  it('one that was Ready is asked itself', () => {
    expect(assumeObservation(row(READY))).toEqual(ready);
  });

  it.each(['Pending', 'Progressing', 'Suspended', 'Error', 'Deleting'] as const)(
    'nothing is known of one that is %s, and nothing but that is written',
    (phase) => {
      const before = row({ phase });
      expect(assumeObservation(before)).toBeUndefined();
      expect(nextState(before, undefined, null, NOW)).toEqual({ reason: 'PlatformUnreachable', failures: 1 });
    },
  );
});

describe('the time until a runtime can have been idle for long enough', () => {
  it.each([
    ['is over once it was wanted that long ago', { wanted_at: ago(1_000) }, 1_000, 0],
    ['is what is left of the limit before', { wanted_at: ago(999) }, 1_000, 1],
    ['never comes if runtimes are never suspended', { wanted_at: ago(1_000_000) }, 0, Infinity],
    ['never comes if it is to be suspended already', { wanted_at: ago(1), desired: 'suspended' as const }, 1, Infinity],
  ])('%s', (_what, more, limitMs, expected) => {
    expect(msUntilIdle(row(more), limitMs, NOW)).toBe(expected);
  });
});

describe('a runtime is settled', () => {
  const wasReady = row(READY);
  const asleep = row({ desired: 'suspended', phase: 'Suspended' });
  const starting: RuntimeObservation = { phase: 'Progressing', reason: 'Starting', address: null, current: true };
  const rollout = (requested: boolean, granted: boolean) => ({ ...ready, rollout: { requested, granted } });
  it.each<[string, RuntimeRow, RuntimeObservation | undefined, boolean]>([
    ['while it is Ready where it was', wasReady, ready, true],
    ['not once it moved', wasReady, { ...ready, address: 'http://127.0.0.1:1' }, false],
    ['not once it is starting again', wasReady, starting, false],
    ['not while it does not answer', row({ ...READY, reason: 'NotAnswering', failures: 1 }), ready, false],
    ['not if it is not there', wasReady, undefined, false],
    ['not if the driver has something to do', wasReady, { ...ready, outdated: true }, false],
    ['not while it is to be deleted', row({ ...READY, desired: 'deleted' }), ready, false],
    ['while it is suspended as wanted', asleep, suspended, true],
    ['not if it runs and should not', asleep, ready, false],
    ['while it is held', row({ phase: 'Suspended', reason: 'Held' }), suspended, true],
    ['not once it is held', wasReady, suspended, false],
    ['not once it is released', row({ phase: 'Suspended', reason: 'Held' }), starting, false],
    [
      'while it starts for the same reason',
      row({ phase: 'Progressing', reason: 'Starting', failures: 3 }),
      starting,
      true,
    ],
    [
      'not once it does not start for another reason',
      row({ phase: 'Progressing', reason: 'Pulling' }),
      starting,
      false,
    ],
    ['not before the platform knows that it may be stopped for a revision', wasReady, rollout(false, false), false],
    ['while it waits for the grant of a revision', wasReady, rollout(true, false), true],
    ['not once a revision is granted', wasReady, rollout(true, true), false],
    [
      'not once the revision is in place that it was stopped for',
      row({ desired: 'suspended', phase: 'Suspended', reason: 'NewRevision' }),
      suspended,
      false,
    ],
  ])('%s', (_what, before, observed, expected) => {
    expect(isSettled(before, observed, NOW)).toBe(expected);
  });

  it('and nothing of an update changes but what differs, whatever a Date is made of', () => {
    const before = row({ ...READY, failures: 2 });
    const update = { phase: 'Ready', identified_at: new Date(0), failures: 0, silent_since: NOW } as const;
    expect(changesOf(before, update)).toEqual({ failures: 0, silent_since: NOW });
  });
});

describe('the time to ready', () => {
  const named = { phase: 'Ready' as const, identified_at: NOW };
  it.each([
    ['counts from the sign-up', { wanted_at: ago(1_500) }, named, 1.5],
    ['counts from the waking', { identified_at: ago(9_000), wanted_at: ago(2_000) }, named, 2],
    ['does not count one that comes back by itself', { identified_at: ago(1), wanted_at: ago(9) }, named, undefined],
    ['does not count one that was Ready', { ...READY, wanted_at: ago(9) }, named, undefined],
    ['does not count one that is not Ready', { wanted_at: ago(9) }, { phase: 'Progressing' as const }, undefined],
    ['is never negative', { wanted_at: ago(-5) }, named, 0],
  ])('%s', (_what, more, next, seconds) => {
    expect(secondsToReady(row(more), next)).toBe(seconds);
  });
});
