/**
 * `npm test` and `npm run e2e` run each kind of fault; with `--all` they also run every combination, and more cases.
 *
 * @returns the value of the tier that runs
 */
export function byTier<T>(tier: { core: T; all: T }, env = process.env): T {
  return env['USWARM_ALL_TESTS'] === '1' ? tier.all : tier.core;
}
