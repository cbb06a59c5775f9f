import type { Proof, Requirement } from './ledger.js';

/** A route whose handler is replaced, and the proven rows whose tests must fail. */
export interface Mutant {
  route: string;
  ids: string[];
}

/** Returns a mutant for each route with proven rows, in ledger order. */
export function mutantsOf(rows: readonly Requirement[]): Mutant[] {
  const byRoute = new Map<string, string[]>();
  for (const { id, route, state, suite } of rows) {
    if (route === undefined || state !== 'proven' || suite !== 'int') continue;
    byRoute.set(route, [...(byRoute.get(route) ?? []), id]);
  }
  return [...byRoute].map(([route, ids]) => ({ route, ids }));
}

/** Returns a jest pattern for tests that name a row. */
export function namePattern(ids: readonly string[]): string {
  return `\\b(${ids.join('|')})\\b`;
}

/** Returns the files whose tests name a row, relative to the repository. */
export function filesNaming(ids: readonly string[], proofs: readonly Proof[]): string[] {
  return [...new Set(proofs.filter(({ id }) => ids.includes(id)).map(({ file }) => file))];
}

/**
 * Returns the rows without a failing test. A row whose tests did not run counts as green: a mutant that breaks a test's
 * set-up must not count as detected.
 */
export function greenIds(ids: readonly string[], proofs: readonly Proof[]): string[] {
  const red = new Set(proofs.filter(({ status }) => status === 'failed').map(({ id }) => id));
  return ids.filter((id) => !red.has(id));
}

/** Returns the rows that are not proven without a mutant, for which a mutant proves nothing. */
export function notGreenIds(ids: readonly string[], proofs: readonly Proof[]): string[] {
  return ids.filter((id) => {
    const statuses = proofs.filter((proof) => proof.id === id).map(({ status }) => status);
    return !statuses.includes('passed') || statuses.includes('failed');
  });
}
