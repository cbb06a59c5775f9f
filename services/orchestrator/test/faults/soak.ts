import { byTier } from '@uswarm/testkit/tier';
import type fc from 'fast-check';

/** A property's runs in `npm test`. */
const RUNS = byTier({ core: 60, all: 400 });

/** `npm run soak` sets the variables: it runs for a time, or repeats a failure with its seed. */
export function soakParameters<Values>(env = process.env): fc.Parameters<Values> {
  const { USWARM_SOAK_MINUTES: minutes, USWARM_SOAK_SEED: seed, USWARM_SOAK_PATH: path } = env;
  return {
    numRuns: RUNS,
    ...(minutes === undefined
      ? {}
      : { numRuns: 1_000_000, interruptAfterTimeLimit: Number(minutes) * 60_000, markInterruptAsFailure: false }),
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(path === undefined ? {} : { path, endOnFailure: true }),
  };
}
