import { existsSync } from 'node:fs';
import { byTier } from '@uswarm/testkit/tier';
import type fc from 'fast-check';
import { NAMED_SCHEDULES } from './named-schedules.js';
import type { FaultSeconds, Schedule } from './schedule.js';

interface ScheduleParameters {
  parameters: fc.Parameters<[Schedule]>;
  faults: FaultSeconds;
  maxSteps: number;
  isSoak: boolean;
}

/** The number of generated schedules that `npm test` runs after the named ones. */
const SEEDS = byTier({ core: 1, all: 8 });

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
    const examples = Object.values(NAMED_SCHEDULES).map((schedule): [Schedule] => [schedule]);
    const numRuns = examples.length + SEEDS;
    const seconds = { min: 1, max: 8 };
    const faults = { pause: seconds, other: seconds };
    return { parameters: { ...repeated, examples, numRuns }, faults, maxSteps: 20, isSoak: false };
  }
  return {
    parameters: {
      ...repeated,
      numRuns: 1_000_000,
      interruptAfterTimeLimit: Number(minutes) * 60_000,
      markInterruptAsFailure: false,
    },
    faults: { pause: { min: 5, max: 40 }, other: { min: 1, max: 40 } },
    maxSteps: 40,
    isSoak: true,
  };
}

const STOP_CHECK_MS = 250;

/** Aborts when `npm run soak` is interrupted. Signals do not reach the code of tests, so it creates a file. */
export function abortIfInterrupted(controller: AbortController, file = process.env['USWARM_SOAK_STOP_FILE']): void {
  if (file === undefined) return;
  const timer = setInterval(() => {
    if (!existsSync(file)) return;
    clearInterval(timer);
    controller.abort(new Error('the soak test was interrupted'));
  }, STOP_CHECK_MS);
  timer.unref();
}
