import type { Proof, Requirement } from './ledger.js';

/** A route to take away, with the proven rows that must notice. */
export interface Mutant {
  route: string;
  ids: string[];
}

/** One mutant for each route that has proven rows, in ledger order. */
export function mutantsOf(rows: readonly Requirement[]): Mutant[] {
  const byRoute = new Map<string, string[]>();
  for (const { id, route, state, suite } of rows) {
    if (route === undefined || state !== 'proven' || suite !== 'int') continue;
    byRoute.set(route, [...(byRoute.get(route) ?? []), id]);
  }
  return [...byRoute].map(([route, ids]) => ({ route, ids }));
}

/** A pattern for jest that matches the tests which name one of the rows. */
export function namePattern(ids: readonly string[]): string {
  return `\\b(${ids.join('|')})\\b`;
}

/** The files, below the repository's root, whose tests name one of the rows. */
export function filesNaming(ids: readonly string[], proofs: readonly Proof[]): string[] {
  return [...new Set(proofs.filter(({ id }) => ids.includes(id)).map(({ file }) => file))];
}

/**
 * The rows that no failing test disproves. A row whose tests did not run counts as green: a
 * mutant that breaks the test's own set-up must not pass for one that the test noticed.
 */
export function greenIds(ids: readonly string[], proofs: readonly Proof[]): string[] {
  const red = new Set(proofs.filter(({ status }) => status === 'failed').map(({ id }) => id));
  return ids.filter((id) => !red.has(id));
}

/** The rows that are not proven as things stand; on them a mutant would show nothing. */
export function notGreenIds(ids: readonly string[], proofs: readonly Proof[]): string[] {
  return ids.filter((id) => {
    const statuses = proofs.filter((proof) => proof.id === id).map(({ status }) => status);
    return !statuses.includes('passed') || statuses.includes('failed');
  });
}
