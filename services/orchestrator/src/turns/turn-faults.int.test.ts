import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { byTier } from '@uswarm/testkit/tier';
import fc from 'fast-check';
import { sql } from 'kysely';
import { brokenRules, leftBehind, outcomes, uncounted, usageOf } from '../../test/faults/end-of-run.js';
import { FaultRun } from '../../test/faults/fault-run.js';
import { APPROVED, type Fault, type Schedule, schedules } from '../../test/faults/schedule.js';
import { createEffectsTable } from '../../test/faults/simulated-tools.js';
import { soakParameters } from '../../test/faults/soak.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

/** Distance between two fault points. */
const STEP = byTier({ core: 5, all: 1 });
/** `npm run soak` ends the property. */
const NO_DEADLINE_MS = 24 * 3_600_000;

describe('turns with generated faults', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    await createEffectsTable(uswarm.database);
  });
  afterAll(() => uswarm?.close());

  async function run(schedule: Schedule) {
    const { database } = uswarm;
    await database.deleteFrom('work').where('kind', '=', 'turn').execute();
    await sql`DELETE FROM simulated_effects`.execute(database);
    const user = await uswarm.user();
    const faultRun = new FaultRun(uswarm, user, await uswarm.home(user), schedule);
    await faultRun.toTheEnd();
    const calls = await outcomes(faultRun, database);
    const { attempts, other, runtime, costsOfWaiting, home } = faultRun;
    const usage = await usageOf(home.workspaceId, database);
    return {
      calls,
      usage,
      counted: runtime.counted,
      attempts,
      allHappened: faultRun.isOver,
      modelCalls: runtime.modelCalls,
      searches: runtime.searches,
      soundness: {
        broken: [...other.violations, ...runtime.violations, ...calls.flatMap(brokenRules)],
        costsOfWaiting,
        stuck: runtime.stuck,
        uncounted: uncounted(faultRun, usage),
        left: await leftBehind(home.workspaceId, database),
      },
    };
  }
  const COUNTED = { calls: 0, promptTokens: 0, completionTokens: 0 };
  const SOUND = { broken: [], costsOfWaiting: [], stuck: 0, uncounted: COUNTED, left: {} };

  it(
    'invariants 4, 5, 7, 8 and 10: no effect twice or without its approval, no usage is lost, and nothing is left behind',
    () =>
      fc.assert(
        fc.asyncProperty(schedules, async (schedule) => expect((await run(schedule)).soundness).toEqual(SOUND)),
        soakParameters(),
      ),
    NO_DEADLINE_MS,
  );

  it.each<Fault>(['kill the orchestrator', 'kill the runtime', 'kill both', 'hang the runtime'])(
    'invariant 10: tool lines, cards and agents reach their end with one fault, at whichever point: %s',
    async (fault) => {
      const broken: unknown[] = [];
      let points = 0;
      for (let allHappened = true; allHappened; points += STEP) {
        const faults: Schedule['faults'] = [{ after: points, fault }];
        const result = await run({ ...APPROVED, steps: [['save', 'send'], ['search']], faults });
        allHappened = result.allHappened;
        const areTold = result.calls.length === 2 && result.calls.every(({ told }) => told !== undefined);
        const isSound = isDeepStrictEqual(result.soundness, SOUND) && areTold;
        if (!isSound) broken.push({ point: points, ...result });
      }
      expect(broken).toEqual([]);
      expect(points).toBeGreaterThan(50);
    },
  );

  it('execute each call once, after one pause per approval, if no fault is generated', async () => {
    const steps: Schedule['steps'] = [
      ['save', 'create'],
      ['search', 'send'],
    ];
    const result = await run({ ...APPROVED, steps });
    expect(result).toMatchObject({ attempts: 4, modelCalls: 3, searches: 1 });
    expect(result.usage).toEqual({ calls: 3, ...result.counted, reserved: 0 });
    expect(result.soundness).toEqual(SOUND);
    expect(result.calls.map(({ tool, executions, told }) => ({ tool, executions, told }))).toEqual([
      { tool: 'save', executions: 1, told: 'done' },
      { tool: 'create', executions: 1, told: 'done' },
      { tool: 'send', executions: 1, told: 'done' },
    ]);
  });
});
