import type fc from 'fast-check';
import { NAMED_SCHEDULES } from './named-schedules.js';
import type { Step } from './schedule.js';

interface ScheduleParameters {
  parameters: fc.Parameters<[Step[]]>;
  longestFaultS: number;
  maxSteps: number;
  isSoak: boolean;
}

/** The number of generated schedules that `npm test` runs after the named ones. */
const SEEDS = 3;

/** How many schedules run, and how hard they are. `npm run soak -- realtime` sets the variables. */
export function scheduleParameters(env = process.env): ScheduleParameters {
  const { USWARM_SOAK_MINUTES: minutes, USWARM_SOAK_SEED: seed, USWARM_SOAK_PATH: path } = env;
  const repeated = {
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(path === undefined ? {} : { path }),
    // A schedule takes half a minute, and shrinking runs many.
    endOnFailure: true,
  };
  if (minutes === undefined) {
    const examples = Object.values(NAMED_SCHEDULES).map((steps): [Step[]] => [steps]);
    const numRuns = examples.length + SEEDS;
    return { parameters: { ...repeated, examples, numRuns }, longestFaultS: 8, maxSteps: 20, isSoak: false };
  }
  return {
    parameters: {
      ...repeated,
      numRuns: 1_000_000,
      interruptAfterTimeLimit: Number(minutes) * 60_000,
      markInterruptAsFailure: false,
    },
    longestFaultS: 40,
    maxSteps: 40,
    isSoak: true,
  };
}
