import { causedStatements } from '@uswarm/testkit/counted-statements';
import type { SentStatement } from './statement-counter.js';

export interface Counted {
  statements: number;
  transactions: number;
  /** The most frequent statements: how often, and their beginning. */
  most: readonly [count: number, text: string][];
}

const SHOWN = 20;
const SHOWN_LENGTH = 90;

/** Counts what was sent because of something that happened: see `causedStatements`. */
export function countStatements(sent: readonly SentStatement[], atRest: readonly SentStatement[]): Counted {
  const { statements, transactions } = causedStatements(sent, atRest);
  const counts = new Map<string, number>();
  for (const { text } of statements) {
    const shown = text.replaceAll(/\s+/g, ' ').slice(0, SHOWN_LENGTH);
    counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  return {
    statements: statements.length,
    transactions,
    most: [...counts]
      .map(([text, count]): [number, string] => [count, text])
      .toSorted(([a], [b]) => b - a)
      .slice(0, SHOWN),
  };
}
