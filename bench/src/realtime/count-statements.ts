import type { SentStatement } from './statement-counter.js';

export interface Counted {
  statements: number;
  transactions: number;
  /** The most frequent statements: how often, and their beginning. */
  most: readonly [count: number, text: string][];
}

const BEGIN = /^(begin|start transaction)/i;
const END = /^(commit|rollback)/i;
const WRITES = /^(insert|update|delete|with[^]*(insert into|update|delete from)|select[^]*from claim_fairly)/i;
const SHOWN = 20;
const SHOWN_LENGTH = 90;

/** Statements that one connection executes in one transaction, or a single one. */
function unitsOf(statements: readonly SentStatement[]): SentStatement[][] {
  const open = new Map<number, SentStatement[]>();
  const units: SentStatement[][] = [];
  for (const statement of statements) {
    const unit = open.get(statement.connection) ?? [];
    if (unit.length === 0) units.push(unit);
    unit.push(statement);
    if (BEGIN.test(statement.text)) open.set(statement.connection, unit);
    else if (END.test(statement.text)) open.delete(statement.connection);
  }
  return units;
}

/**
 * Counts what was sent because of something that happened.
 * @param atRest statements of the idle server: polls and heartbeats, which do not count unless they return more rows
 */
export function countStatements(sent: readonly SentStatement[], atRest: readonly SentStatement[]): Counted {
  const usual = new Map<string, number>();
  for (const { text, rows = 0 } of atRest) usual.set(text, Math.max(rows, usual.get(text) ?? 0));
  const isPoll = ({ text, rows = 0 }: SentStatement): boolean => rows <= (usual.get(text) ?? -1);
  const units = unitsOf(sent).filter((unit) => !unit.every((one) => isPoll(one)));
  const counted = units.flat();
  const counts = new Map<string, number>();
  for (const { text } of counted) {
    const shown = text.replaceAll(/\s+/g, ' ').slice(0, SHOWN_LENGTH);
    counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  return {
    statements: counted.length,
    transactions: units.filter(([first]) => BEGIN.test(first?.text ?? '') || WRITES.test(first?.text ?? '')).length,
    most: [...counts]
      .map(([text, count]): [number, string] => [count, text])
      .toSorted(([a], [b]) => b - a)
      .slice(0, SHOWN),
  };
}
