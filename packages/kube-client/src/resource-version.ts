const NUMBER = /^[0-9]+$/;

/**
 * True if version `a` is newer than `b`. Versions are numbers that increase with each write in the cluster. If one is
 * unknown or not a number, `a` counts as newer.
 */
export function isNewer(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || !NUMBER.test(a) || !NUMBER.test(b)) return true;
  return a.length === b.length ? a > b : a.length > b.length;
}
