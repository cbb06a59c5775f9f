/**
 * `npm test` runs each kind of fault; `npm test -- --all` also runs every combination, and more generated cases.
 *
 * @returns the value of the tier that runs
 */
export function byTier<T>(tier: { core: T; all: T }, env = process.env): T {
  return env['USWARM_ALL_TESTS'] === '1' ? tier.all : tier.core;
}
