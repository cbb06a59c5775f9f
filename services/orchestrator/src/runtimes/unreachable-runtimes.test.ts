import { beforeEach, describe, expect, it } from '@jest/globals';
import { createRuntimeHarness, type RuntimeHarness } from '../../test/runtime-harness.js';
import { createReportLimit } from './report-limit.js';

const AFTER_MS = 30_000;

describe('a runtime that the platform finds ready and that does not respond', () => {
  let harness: RuntimeHarness;
  beforeEach(() => {
    harness = createRuntimeHarness();
    // Otherwise it is suspended for idleness.
    harness.platform.busy = true;
  });
  /** Checks the runtime each second, as the reconciler and the runtime watch would. */
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      harness.advance(1_000);
      await harness.reconcileIfDue();
    }
  }

  it.each([
    ['was reached before', async () => void (await harness.reconcile())],
    ['has never been reached', async () => {}],
  ])('is shown as unreachable once after 30 s, and no longer once it responds: it %s', async (_what, start) => {
    await start();
    harness.platform.forwards = false;
    await harness.reconcile();
    const since = harness.now();
    await pass(AFTER_MS / 1_000 - 1);
    expect(harness.recorded.reports).toEqual([]);
    await pass(120);
    expect(harness.recorded.reports).toEqual([since]);
    harness.platform.forwards = true;
    await pass(15);
    expect(harness.recorded.reports).toEqual([since, null]);
    expect(harness.row).toMatchObject({ phase: 'Ready', silent_since: null });
    await pass(60);
    expect(harness.recorded.reports).toHaveLength(2);
  });

  it('is no longer shown as unreachable when the platform finds that it is not ready', async () => {
    await harness.reconcile();
    harness.platform.forwards = false;
    await harness.reconcile();
    await pass(60);
    expect(harness.platform.unreachableSince).not.toBeNull();
    harness.platform.running = false;
    await pass(30);
    expect(harness.platform.unreachableSince).toBeNull();
  });

  it('is not reported while the platform is unreachable', async () => {
    await harness.reconcile();
    harness.platform.forwards = false;
    await harness.reconcile();
    harness.platform.reachable = false;
    const { length } = harness.recorded.ensureFailures;
    const checks = 3;
    for (let check = 0; check < checks; check += 1) {
      harness.advance(AFTER_MS);
      await harness.reconcile();
    }
    expect(harness.recorded.ensureFailures).toHaveLength(length + checks);
    expect(harness.recorded.reports).toEqual([]);
  });
});

it('an orchestrator that is cut off from all runtimes reports only some of them per minute', () => {
  let now = 0;
  const limit = createReportLimit(10, { now: () => new Date(now) });
  const admitted = (): number => Array.from({ length: 1_000 }, () => limit.admits()).filter(Boolean).length;
  expect(admitted()).toBe(10);
  now = 59_999;
  expect(admitted()).toBe(0);
  now = 60_000;
  expect(admitted()).toBe(10);
});
