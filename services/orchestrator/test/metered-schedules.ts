import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from '@jest/globals';
import fc from 'fast-check';
import { startTestOrchestrator, type TestOrchestrator } from './test-orchestrator.js';
import { createTestTurnWorker, type TestTurnWorker } from './turn-fixture.js';

export interface MeteredSchedule<Operation> {
  run(operation: Operation): Promise<void>;
  /** The statements that do not hold. */
  violations(): Promise<string[]>;
}

export interface ScheduleRuns<Operation> {
  operations: fc.Arbitrary<Operation[]>;
  runs: number;
  /** Replace the service's plans. */
  plans?: readonly unknown[];
  start: (uswarm: TestOrchestrator, worker: TestTurnWorker) => Promise<MeteredSchedule<Operation>>;
}

/**
 * Runs generated schedules with one orchestrator, and checks after each operation that everything holds.
 *
 * @returns the number of completed schedules
 */
export async function checkSchedules<Operation>({
  operations,
  runs,
  plans,
  start,
}: ScheduleRuns<Operation>): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const environment: Record<string, string> = {};
  if (plans !== undefined) {
    const directory = mkdtempSync(path.join(tmpdir(), 'uswarm-plans-'));
    stack.defer(() => rmSync(directory, { recursive: true }));
    environment['PLANS_FILE'] = path.join(directory, 'plans.json');
    writeFileSync(environment['PLANS_FILE'], JSON.stringify(plans));
  }
  const uswarm = await startTestOrchestrator({ environment });
  stack.defer(() => uswarm.close());
  const worker = createTestTurnWorker(uswarm.database);
  let completed = 0;
  await fc.assert(
    fc.asyncProperty(operations, async (schedule) => {
      const running = await start(uswarm, worker);
      for (const operation of schedule) {
        await running.run(operation);
        expect(await running.violations()).toEqual([]);
      }
      completed += 1;
    }),
    { numRuns: runs },
  );
  return completed;
}
