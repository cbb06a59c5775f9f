const NUMBER = /^[0-9]+$/;

/**
 * Whether version `a` came after `b`. Versions are numbers that grow with each write of the whole
 * cluster; where one is not known or not a number, `a` counts as newer.
 */
export function isNewer(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || !NUMBER.test(a) || !NUMBER.test(b)) return true;
  return a.length === b.length ? a > b : a.length > b.length;
}
