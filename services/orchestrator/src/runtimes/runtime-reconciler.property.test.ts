import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createRuntimeHarness, IDLE_MS, type RuntimeHarness } from '../../test/runtime-harness.js';

/** A Ready runtime that has just reached the idle limit. */
async function idleRuntime(): Promise<RuntimeHarness> {
  const harness = createRuntimeHarness();
  await harness.reconcile();
  harness.advance(IDLE_MS);
  return harness;
}

describe('random histories', () => {
  type Step = (harness: RuntimeHarness) => Promise<void> | void;
  interface ScriptStep {
    name: string;
    interruptedBy?: string;
    /** `interruptedBy` runs at this gap in the reconcile. */
    after?: number;
  }
  const steps: Record<string, Step> = {
    reconcile: async (harness) => void (await harness.reconcile()),
    storeMessage: (harness) => harness.storeMessage(),
    queueTurnOfOldReplica: (harness) => harness.queueTurnOfOldReplica(),
    completeTurns: (harness) => harness.completeTurns(),
    startPod: (harness) => harness.startPod(),
    applyOnPlatform: (harness) => harness.applyOnPlatform(),
    loseService: (harness) => void (harness.platform.forwards = false),
    findService: (harness) => void (harness.platform.forwards = true),
    passIdleLimit: (harness) => harness.advance(IDLE_MS),
    passTenSeconds: (harness) => harness.advance(10_000),
    suspendByOperator: (harness) => void (harness.platform.suspendedByOperator = true),
    resumeByOperator: (harness) => void (harness.platform.suspendedByOperator = false),
    disconnect: (harness) => void (harness.platform.reachable = false),
    reconnect: (harness) => void (harness.platform.reachable = true),
    publishRevision: (harness) => harness.publishRevision(),
    grantRollout: (harness) => harness.grantRollout(),
    beginWork: (harness) => void (harness.platform.busy = true),
    endWork: (harness) => void (harness.platform.busy = false),
  };
  const step: fc.Arbitrary<ScriptStep> = fc.oneof(
    fc.constantFrom(...Object.keys(steps)).map((name) => ({ name })),
    fc.record({
      name: fc.constant('reconcile'),
      interruptedBy: fc.constantFrom(
        'storeMessage',
        'startPod',
        'applyOnPlatform',
        'suspendByOperator',
        'grantRollout',
        'publishRevision',
      ),
      after: fc.nat(6),
    }),
  );

  async function play(harness: RuntimeHarness, script: readonly ScriptStep[]): Promise<void> {
    for (const each of script) {
      if (each.interruptedBy !== undefined) {
        const interrupt = steps[each.interruptedBy];
        harness.interrupt(async () => interrupt?.(harness), each.after ?? 0);
      }
      await steps[each.name]?.(harness);
      harness.clearInterruption();
    }
  }

  async function reconcileRounds(harness: RuntimeHarness, rounds: number, afterwards: () => void): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      harness.advance(5_000);
      await harness.reconcileIfDue();
      afterwards();
    }
  }

  it('end with all turns completed, the revision rolled out, and the idle runtime suspended', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (script) => {
        const harness = createRuntimeHarness();
        await play(harness, script);

        // All faults end: the runtime becomes Ready and completes the queued turns.
        Object.assign(harness.platform, { suspendedByOperator: false, reachable: true, busy: false, forwards: true });
        await harness.storeMessage();
        await reconcileRounds(harness, 6, harness.applyOnPlatform);
        expect(harness.row).toMatchObject({ desired: 'running', phase: 'Ready' });
        harness.completeTurns();
        expect(harness.recorded.queuedTurns).toBe(0);

        // The runtime is inactive: a pending revision is rolled out.
        await reconcileRounds(harness, 8, () => {
          harness.grantRollout();
          harness.applyOnPlatform();
        });
        expect(harness.platform.revisionPending).toBe(false);
        expect(harness.row).toMatchObject({ desired: 'running', phase: 'Ready' });

        // The runtime is idle: it is suspended.
        harness.advance(IDLE_MS);
        for (let round = 0; round < 4; round += 1) await harness.reconcileIfDue();
        expect(harness.row).toMatchObject({ desired: 'suspended', phase: 'Suspended' });
        expect(harness.platform.suspended).toBe(true);

        // A suspended runtime is not reconciled again.
        harness.applyOnPlatform();
        await harness.reconcileIfDue();
        harness.advance(24 * 3_600_000);
        expect(await harness.reconcileIfDue()).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('never suspend a runtime whose queued turn is not completed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(8), fc.boolean(), async (after, suspendedBefore) => {
        const harness = await idleRuntime();
        if (suspendedBefore) await harness.reconcile();
        harness.interrupt(() => harness.storeMessage(), after);
        await harness.reconcile();
        harness.clearInterruption();
        if (harness.recorded.queuedTurns === 0) return;
        expect(harness.row.desired).toBe('running');
        await harness.reconcile();
        expect(harness.platform.suspended).toBe(false);
      }),
    );
  });
});
