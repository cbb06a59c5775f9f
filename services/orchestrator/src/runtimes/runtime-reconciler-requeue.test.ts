import { describe, expect, it } from '@jest/globals';
import { createRuntimeHarness, IDLE_MS } from '../../test/runtime-harness.js';

describe('a settled runtime', () => {
  const HOUR_MS = 3_600_000;

  it('is not reconciled while it is suspended', async () => {
    const harness = createRuntimeHarness();
    await harness.reconcile();
    harness.advance(IDLE_MS);
    while (await harness.reconcileIfDue()) harness.applyOnPlatform();
    expect(harness.row.phase).toBe('Suspended');
    const { writes } = harness.recorded;
    for (let round = 0; round < 100; round += 1) {
      harness.advance(HOUR_MS);
      expect(await harness.reconcileIfDue()).toBe(false);
    }
    expect(harness.recorded.writes).toBe(writes);
  });

  it('is reconciled once per idle limit while it is Ready and busy, without a write', async () => {
    const harness = createRuntimeHarness();
    await harness.reconcile();
    harness.platform.busy = true;
    const { writes } = harness.recorded;
    let reconciles = 0;
    for (let time = 0; time < 10 * IDLE_MS; time += IDLE_MS / 10) {
      harness.advance(IDLE_MS / 10);
      if (await harness.reconcileIfDue()) reconciles += 1;
    }
    expect(reconciles).toBe(10);
    expect(harness.recorded.writes).toBe(writes);
  });

  it('is reconciled when it stops on the platform, and again when it is back', async () => {
    const harness = createRuntimeHarness();
    await harness.reconcile();
    expect(await harness.reconcileIfDue()).toBe(false);
    harness.platform.running = false;
    expect(await harness.reconcileIfDue()).toBe(true);
    expect(harness.row).toMatchObject({ phase: 'Progressing', reason: 'Starting' });
    harness.platform.running = true;
    expect(await harness.reconcileIfDue()).toBe(true);
    expect(harness.row.phase).toBe('Ready');
  });

  it('is not reconciled if the platform fails to start it for a long time', async () => {
    const harness = createRuntimeHarness();
    harness.platform.running = false;
    for (let second = 0; second < 300; second += 1) {
      harness.advance(1_000);
      await harness.reconcileIfDue();
    }
    const { writes } = harness.recorded;
    harness.advance(HOUR_MS);
    expect(await harness.reconcileIfDue()).toBe(false);
    expect(harness.recorded.writes).toBe(writes);
    expect(harness.row.reason).toBe('Starting');
  });

  it('is identified every ten seconds for replicas of release 0.2 if it is older than the migration', async () => {
    const harness = createRuntimeHarness();
    await harness.reconcile();
    harness.row.polled_until = new Date(harness.now().getTime() + 30_000);
    const results: { polled: boolean; identified: boolean }[] = [];
    for (let time = 0; time <= 40_000; time += 10_000) {
      const result = (await harness.reconcile()) as { againInMs: number };
      const identified = harness.row.identified_at?.getTime() === harness.now().getTime();
      results.push({ polled: result.againInMs === 10_000, identified });
      harness.advance(10_000);
    }
    expect(results.map(({ polled }) => polled)).toEqual([true, true, true, false, false]);
    expect(results.map(({ identified }) => identified)).toEqual([true, true, true, false, false]);
  });
});
