import { beforeEach, describe, expect, it } from '@jest/globals';
import { createRuntimeHarness, type RuntimeHarness } from '../../test/runtime-harness.js';

const A_DAY = 24 * 3_600_000;

describe('a runtime whose place another one needs', () => {
  let kept: string[];
  let harness: RuntimeHarness;
  beforeEach(() => {
    kept = [];
    const keep = (workspaceId: string): void => void kept.push(workspaceId);
    harness = createRuntimeHarness({ pool: { mustYield: () => true, isQueued: () => false, keep } });
  });

  it('is suspended if it has no work', async () => {
    expect(await harness.reconcile()).toEqual({ againInMs: 0 });
    expect(harness.row).toMatchObject({ desired: 'suspended', phase: 'Suspended', reason: '' });
    expect({ kept, suspensions: harness.recorded.suspensions }).toEqual({ kept: [], suspensions: 1 });
  });

  it.each<[string, (harness: RuntimeHarness) => unknown]>([
    ['a turn is queued', ({ recorded }) => (recorded.queuedTurns = 1)],
    ['a title is not written', ({ recorded }) => (recorded.queuedFollowUps = 1)],
    ['it is busy', ({ platform }) => (platform.busy = true)],
  ])('is kept while %s, and checked again', async (_why, prepare) => {
    prepare(harness);
    expect(await harness.reconcile()).toEqual({ againInMs: 10_000 });
    expect({ kept, desired: harness.row.desired }).toEqual({ kept: ['w'], desired: 'running' });
  });

  it('is suspended although it has stopped responding', async () => {
    Object.assign(harness.row, { phase: 'Ready', address: 'http://runtime:1', instance_id: '1' });
    harness.platform.running = false;
    harness.platform.exists = true;
    await harness.reconcile();
    expect(harness.row).toMatchObject({ desired: 'suspended', phase: 'Suspended' });
  });

  it('stays resumed if a message is stored while it is suspended', async () => {
    await harness.reconcile();
    await harness.storeMessage();
    await harness.reconcile();
    expect(harness.row).toMatchObject({ desired: 'running', phase: 'Ready' });
    expect({ kept, suspended: harness.platform.suspended }).toEqual({ kept: ['w'], suspended: false });
  });
});

describe('a runtime whose start is queued', () => {
  let harness: RuntimeHarness;
  beforeEach(() => {
    harness = createRuntimeHarness({
      pool: { mustYield: () => false, isQueued: () => harness.platform.queued, keep: () => undefined },
    });
    harness.platform.queued = true;
  });

  it.each([
    ['it never ran', false, 0],
    ['a turn waits for it', true, 1],
  ])('waits without polling if %s, and starts when the platform reports it', async (_why, verified, queuedTurns) => {
    harness.row.verified = verified;
    harness.recorded.queuedTurns = queuedTurns;
    const { againInMs } = (await harness.reconcile()) as { againInMs: number };
    expect(againInMs).toBeGreaterThan(A_DAY);
    expect(harness.row).toMatchObject({ desired: 'running', phase: 'Progressing', reason: 'Queued' });
    expect(await harness.reconcileIfDue()).toBe(false);
    harness.platform.queued = false;
    expect(await harness.reconcileIfDue()).toBe(true);
    expect(harness.row).toMatchObject({ phase: 'Ready', reason: '' });
  });

  it('is suspended if it ran before and no turn waits for it', async () => {
    harness.row.verified = true;
    expect(await harness.reconcile()).toEqual({ againInMs: 0 });
    expect(harness.row).toMatchObject({ desired: 'suspended', phase: 'Suspended' });
  });
});
