import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ScheduleRun, steps } from '../../test/statuses/schedule-run.js';
import { soakParameters } from '../../test/faults/soak.js';
import { useTurnFixture } from '../../test/turn-fixture.js';

/** `npm run soak` ends the property. */
const NO_DEADLINE_MS = 24 * 3_600_000;
/** Each run has up to 40 steps with several requests. */
const RUNS = 30;

describe('the status of an agent', () => {
  const world = useTurnFixture();

  it(
    'invariant 10: is what its turns imply after each step of any schedule, and when a status ends',
    () =>
      fc.assert(
        fc.asyncProperty(steps, async (schedule) => {
          await world.uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
          const user = await world.uswarm.user();
          const run = new ScheduleRun({ ...world, user, home: await world.uswarm.home(user) });
          await run.start();
          for (const step of schedule) {
            const { shown, expected } = await run.step(step);
            expect(shown).toBe(expected);
          }
        }),
        { ...soakParameters(), ...(process.env['USWARM_SOAK_MINUTES'] === undefined ? { numRuns: RUNS } : {}) },
      ),
    NO_DEADLINE_MS,
  );
});
