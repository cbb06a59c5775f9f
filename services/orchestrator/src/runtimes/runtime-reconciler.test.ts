import { describe, expect, it } from '@jest/globals';
import {
  ADDRESS,
  createRuntimeHarness,
  IDLE_MS,
  type RuntimeHarness,
  STARTING_ADDRESS,
} from '../../test/runtime-harness.js';

/** A Ready runtime that has just reached the idle limit. */
async function idleRuntime(): Promise<RuntimeHarness> {
  const harness = createRuntimeHarness();
  await harness.reconcile();
  harness.advance(IDLE_MS);
  return harness;
}

describe('an idle runtime', () => {
  it('is suspended at the idle limit, and clients are notified', async () => {
    const harness = createRuntimeHarness();
    await harness.reconcile();
    expect(harness.row).toMatchObject({ phase: 'Ready', verified: true });
    harness.advance(IDLE_MS - 1);
    await harness.reconcile();
    expect(harness.row.desired).toBe('running');
    harness.advance(1);
    const { events } = harness.recorded;
    expect(await harness.reconcile()).toEqual({ againInMs: 0 });
    expect(harness.row).toMatchObject({ desired: 'suspended', phase: 'Suspended' });
    expect(harness.recorded).toMatchObject({ events: events + 1, suspensions: 1 });
    expect(harness.recorded.statuses.at(-1)).toBe('offline');
    await harness.reconcile();
    expect(harness.platform.suspended).toBe(true);
    expect({ address: harness.row.address, events: harness.recorded.events }).toEqual({
      address: null,
      events: events + 1,
    });
  });

  it('invariant 7: is suspended although it has a turn that waits for the user, which it is told to stop', async () => {
    const harness = createRuntimeHarness();
    await harness.reconcile();
    harness.platform.turns = ['waiting'];
    harness.platform.idleSince = harness.now().getTime();
    harness.advance(IDLE_MS - 1);
    await harness.reconcile();
    harness.row.wanted_at = new Date(0);
    expect(await harness.reconcile()).toEqual({ againInMs: 1 });
    expect({ turns: harness.platform.turns, desired: harness.row.desired }).toEqual({ turns: [], desired: 'running' });
    harness.platform.turns = ['waiting'];
    harness.advance(1);
    await harness.reconcile();
    expect(harness.row.desired).toBe('suspended');
  });

  it('keeps a turn whose job exists', async () => {
    const harness = await idleRuntime();
    harness.platform.turns = ['running'];
    await harness.storeMessage();
    expect(await harness.reconcile()).toEqual({ againInMs: IDLE_MS });
    expect({ turns: harness.platform.turns, desired: harness.row.desired }).toEqual({
      turns: ['running'],
      desired: 'running',
    });
  });

  it('is not suspended while a turn is queued', async () => {
    const harness = await idleRuntime();
    await harness.storeMessage();
    await harness.reconcile();
    expect(harness.row).toMatchObject({ desired: 'running', phase: 'Ready' });
  });

  it('reaches the idle limit although it is reconciled in between', async () => {
    const harness = createRuntimeHarness();
    for (let time = 0; time < IDLE_MS; time += 10_000) {
      expect(await harness.reconcile()).toEqual({ againInMs: Math.min(IDLE_MS, IDLE_MS - time) });
      harness.advance(10_000);
    }
    await harness.reconcile();
    expect(harness.row.desired).toBe('suspended');
  });

  it('is resumed by a message, becomes Ready, and its turns become due', async () => {
    const harness = await idleRuntime();
    await harness.reconcile();
    await harness.reconcile();
    harness.applyOnPlatform();
    harness.advance(3_600_000);
    await harness.storeMessage();
    expect(harness.row.desired).toBe('running');
    await harness.reconcile();
    expect(harness.row).toMatchObject({ phase: 'Progressing' });
    harness.applyOnPlatform();
    const { turnsMadeDue } = harness.recorded;
    await harness.reconcile();
    expect(harness.row).toMatchObject({ phase: 'Ready', instance_id: '2' });
    expect(harness.recorded).toMatchObject({ turnsMadeDue: turnsMadeDue + 1, ready: ['first', 'resume'] });
  });

  it('is resumed for a turn that a replica of release 0.2 stored', async () => {
    const harness = await idleRuntime();
    await harness.reconcile();
    harness.queueTurnOfOldReplica();
    await harness.reconcile();
    expect(harness.row.desired).toBe('running');
    expect(harness.platform.suspended).toBe(false);
    expect(harness.recorded.resumes).toBe(1);
  });

  it('is deleted on request', async () => {
    const harness = await idleRuntime();
    await harness.reconcile();
    harness.row.desired = 'deleted';
    expect(await harness.reconcile()).toEqual({ done: true });
    expect({ exists: harness.platform.exists, forgotten: harness.forgotten }).toEqual({
      exists: false,
      forgotten: ['w'],
    });
  });
});

describe('a starting runtime', () => {
  async function resumedRuntime(): Promise<RuntimeHarness> {
    const harness = await idleRuntime();
    await harness.reconcile();
    await harness.reconcile();
    harness.applyOnPlatform();
    return harness;
  }

  it('is called at its pod for a waiting turn, and at its Service after the platform reports it as ready', async () => {
    const harness = await resumedRuntime();
    await harness.storeMessage();
    await harness.reconcile();
    harness.startPod();
    const { turnsMadeDue } = harness.recorded;
    expect(await harness.reconcileIfDue()).toBe(true);
    expect(harness.row).toMatchObject({ phase: 'Ready', address: STARTING_ADDRESS, instance_id: '2', failures: 0 });
    expect(harness.recorded).toMatchObject({ turnsMadeDue: turnsMadeDue + 1, ready: ['first', 'resume'] });
    // Nothing is left to do until the platform reports a change.
    harness.advance(9_000);
    expect(await harness.reconcileIfDue()).toBe(false);
    harness.applyOnPlatform();
    expect(await harness.reconcileIfDue()).toBe(true);
    expect(harness.row).toMatchObject({ phase: 'Ready', address: ADDRESS, instance_id: '2' });
  });

  it('stays at its pod until its Service forwards to it', async () => {
    const harness = await resumedRuntime();
    await harness.storeMessage();
    await harness.reconcile();
    harness.startPod();
    await harness.reconcile();
    harness.platform.forwards = false;
    harness.applyOnPlatform();
    expect(await harness.reconcile()).toEqual({ againInMs: 10_000 });
    expect(harness.row).toMatchObject({ phase: 'Ready', address: STARTING_ADDRESS, failures: 0 });
    harness.platform.forwards = true;
    harness.advance(10_000);
    expect(await harness.reconcileIfDue()).toBe(true);
    expect(harness.row).toMatchObject({ phase: 'Ready', address: ADDRESS });
  });

  it('is not called before the platform reports it as ready without a turn', async () => {
    const harness = await resumedRuntime();
    harness.row.desired = 'running';
    await harness.reconcile();
    harness.startPod();
    await harness.reconcile();
    expect(harness.row).toMatchObject({ phase: 'Progressing', reason: 'Starting', address: null });
  });

  it('is Progressing again when it stops responding before the platform reports it as ready', async () => {
    const harness = await resumedRuntime();
    await harness.storeMessage();
    await harness.reconcile();
    harness.startPod();
    await harness.reconcile();
    harness.platform.starting = false;
    expect(await harness.reconcileIfDue()).toBe(true);
    expect(harness.row).toMatchObject({ phase: 'Progressing', reason: 'Starting', address: null });
  });
});

describe('a reconcile that loses its lease', () => {
  const takenOver = (harness: RuntimeHarness, after: number): void =>
    harness.interrupt(async () => {
      harness.deleteRuntime();
      harness.lease.held = false;
      harness.lease.lost.abort();
    }, after);

  it('aborts before it creates a runtime', async () => {
    const harness = createRuntimeHarness();
    takenOver(harness, 1);
    await expect(harness.reconcile()).rejects.toThrow('aborted');
    expect({ exists: harness.platform.exists, enqueued: harness.lease.enqueued }).toEqual({
      exists: false,
      enqueued: 0,
    });
  });

  it.each([2, 3])(
    'deletes the runtime that it created after another process deleted it (interrupted at gap %s)',
    async (after) => {
      const harness = createRuntimeHarness();
      takenOver(harness, after);
      await harness.reconcile();
      // The platform completes the creation after the deletion.
      harness.platform.exists = true;
      expect(harness.lease.enqueued).toBe(1);
      expect(await harness.reconcile()).toEqual({ done: true });
      expect(harness.platform.exists).toBe(false);
    },
  );

  it('enqueues no deletion if the workspace still exists', async () => {
    const harness = createRuntimeHarness();
    harness.lease.held = false;
    await harness.reconcile();
    expect({ exists: harness.platform.exists, enqueued: harness.lease.enqueued }).toEqual({
      exists: true,
      enqueued: 0,
    });
  });
});

describe('a runtime that an operator suspended', () => {
  it('shows as Suspended, and becomes Ready when the operator resumes it', async () => {
    const harness = createRuntimeHarness();
    await harness.reconcile();
    harness.platform.suspendedByOperator = true;
    harness.applyOnPlatform();
    harness.advance(10 * IDLE_MS);
    await harness.reconcile();
    await harness.storeMessage();
    await harness.reconcile();
    expect(harness.row).toMatchObject({ desired: 'running', phase: 'Suspended', reason: 'Held' });
    harness.platform.suspendedByOperator = false;
    harness.applyOnPlatform();
    await harness.reconcile();
    expect(harness.row).toMatchObject({ phase: 'Ready', reason: '' });
  });
});

describe('a pending revision', () => {
  async function withPendingRevision(): Promise<RuntimeHarness> {
    const harness = createRuntimeHarness();
    await harness.reconcile();
    harness.publishRevision();
    return harness;
  }

  it('is rolled out to an inactive runtime after the grant, and the runtime is resumed', async () => {
    const harness = await withPendingRevision();
    await harness.reconcile();
    expect(harness.platform.rolloutRequested).toBe(true);
    expect(harness.row.desired).toBe('running');
    await harness.reconcile();
    expect(harness.row).toMatchObject({ desired: 'running', phase: 'Ready' });
    harness.grantRollout();
    expect(await harness.reconcile()).toEqual({ againInMs: 0 });
    expect(harness.row).toMatchObject({ desired: 'suspended', phase: 'Suspended', reason: 'NewRevision' });
    await harness.reconcile();
    expect(harness.platform).toMatchObject({ suspended: true, rolloutRequested: true });
    harness.applyOnPlatform();
    expect(await harness.reconcile()).toEqual({ againInMs: 0 });
    expect(harness.row.desired).toBe('running');
    await harness.reconcile();
    harness.applyOnPlatform();
    await harness.reconcile();
    expect(harness.row).toMatchObject({ desired: 'running', phase: 'Ready', instance_id: '2', reason: '' });
    expect(harness.platform.rolloutRequested).toBe(false);
    expect(harness.recorded).toMatchObject({ rollouts: 1, suspensions: 0 });
  });

  it.each([
    {
      cause: 'a turn is queued',
      begin: (harness: RuntimeHarness) => harness.storeMessage(),
      end: (harness: RuntimeHarness) => harness.completeTurns(),
    },
    {
      cause: 'the runtime is busy',
      begin: async (harness: RuntimeHarness) => void (harness.platform.busy = true),
      end: (harness: RuntimeHarness) => void (harness.platform.busy = false),
    },
  ])('waits while $cause, and loses its grant', async ({ begin, end }) => {
    const harness = await withPendingRevision();
    await harness.reconcile();
    harness.grantRollout();
    await begin(harness);
    await harness.reconcile();
    expect(harness.row.desired).toBe('running');
    expect(harness.platform.rolloutRequested).toBe(false);
    harness.grantRollout();
    end(harness);
    await harness.reconcile();
    expect(harness.row.desired).toBe('running');
    expect(harness.platform).toMatchObject({ rolloutRequested: true, rolloutGranted: false });
  });

  it('is postponed by a message that arrives during the suspension', async () => {
    const harness = await withPendingRevision();
    await harness.reconcile();
    harness.grantRollout();
    await harness.reconcile();
    await harness.reconcile();
    await harness.storeMessage();
    await harness.reconcile();
    expect(harness.row.desired).toBe('running');
    expect(harness.platform.suspended).toBe(false);
    harness.applyOnPlatform();
    await harness.reconcile();
    harness.completeTurns();
    expect(harness.recorded.queuedTurns).toBe(0);
  });

  it('is rolled out to a runtime that is suspended for idleness, and the runtime stays suspended', async () => {
    const harness = await withPendingRevision();
    await harness.reconcile();
    harness.advance(IDLE_MS);
    await harness.reconcile();
    expect(harness.row).toMatchObject({ desired: 'suspended', reason: '' });
    await harness.reconcile();
    harness.applyOnPlatform();
    await harness.reconcile();
    expect(harness.platform.rolloutRequested).toBe(false);
    expect(harness.row.desired).toBe('suspended');
    expect(harness.recorded.rollouts).toBe(0);
  });

  it('resumes the runtime after an outage of the platform during the rollout', async () => {
    const harness = await withPendingRevision();
    await harness.reconcile();
    harness.grantRollout();
    await harness.reconcile();
    await harness.reconcile();
    harness.platform.reachable = false;
    await harness.reconcile();
    harness.applyOnPlatform();
    harness.platform.reachable = true;
    await harness.reconcile();
    expect(harness.row.desired).toBe('running');
  });
});

describe('while the platform is unreachable', () => {
  it('a runtime that responds stays Ready', async () => {
    const harness = createRuntimeHarness();
    await harness.reconcile();
    harness.platform.reachable = false;
    await harness.reconcile();
    expect(harness.row).toMatchObject({ phase: 'Ready', reason: '', address: ADDRESS, failures: 0 });
    expect(harness.recorded.ensureFailures).toEqual(['unreachable']);
  });

  it('a suspended runtime with a queued turn stays Suspended, and is retried soon', async () => {
    const harness = await idleRuntime();
    await harness.reconcile();
    await harness.storeMessage();
    harness.platform.reachable = false;
    const { againInMs } = (await harness.reconcile()) as { againInMs: number };
    expect(againInMs).toBeLessThan(1_000);
    expect(harness.row).toMatchObject({ phase: 'Suspended', reason: 'PlatformUnreachable' });
  });
});
