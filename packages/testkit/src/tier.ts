/**
 * `npm test` and `npm run e2e` run each kind of fault; with `--all` they also run every combination, and more cases.
 *
 * @returns the value for the running tier
 */
export function byTier<T>(tier: { core: T; all: T }, env = process.env): T {
  return env['USWARM_ALL_TESTS'] === '1' ? tier.all : tier.core;
}

/**
 * Divides cases among test blocks that would each run all of them: the blocks together run each case once, and with
 * `--all` each block runs all cases.
 *
 * @param block counted from 0
 */
export function shareByTier<T>(cases: readonly T[], block: number, blocks: number, env = process.env): T[] {
  return byTier({ core: cases.filter((_, index) => index % blocks === block % blocks), all: [...cases] }, env);
}
