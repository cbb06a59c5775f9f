/** A statement that was sent to Postgres. */
export interface CountedStatement {
  /** The connection. */
  connection: unknown;
  text: string;
  /** The number of returned rows; undefined until it ends, or if it fails. */
  rows?: number;
}

const BEGIN = /^(begin|start transaction)/i;
const END = /^(commit|rollback)/i;
const WRITES = /^(insert|update|delete|with[^]*(insert into|update|delete from)|select[^]*from claim_fairly)/i;

/** Statements that one connection executes in one transaction, or a single one. */
function unitsOf<Statement extends CountedStatement>(statements: readonly Statement[]): Statement[][] {
  const open = new Map<unknown, Statement[]>();
  const units: Statement[][] = [];
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
 * Selects what was sent because of something that happened, in whole transactions.
 *
 * @param atRest statements from the idle server: polls and heartbeats, which do not count unless they return more rows
 * @param ignored further polls, which do not count
 * @returns the statements, and the number of transactions that write
 */
export function causedStatements<Statement extends CountedStatement>(
  sent: readonly Statement[],
  atRest: readonly CountedStatement[],
  ignored?: RegExp,
): { statements: Statement[]; transactions: number } {
  const usual = new Map<string, number>();
  for (const { text, rows = 0 } of atRest) usual.set(text, Math.max(rows, usual.get(text) ?? 0));
  const isPoll = ({ text, rows = 0 }: CountedStatement): boolean =>
    ignored?.test(text) === true || rows <= (usual.get(text) ?? -1);
  const units = unitsOf(sent).filter((unit) => !unit.every((one) => isPoll(one)));
  const isWrite = ([first]: readonly CountedStatement[]): boolean =>
    BEGIN.test(first?.text ?? '') || WRITES.test(first?.text ?? '');
  return { statements: units.flat(), transactions: units.filter(isWrite).length };
}
