import type { CountedStatement } from '@uswarm/testkit/counted-statements';
import pg from 'pg';

export function recordStatements(): { statements: CountedStatement[]; stop: () => void } {
  const statements: CountedStatement[] = [];
  const prototype = pg.Client.prototype as unknown as { query: (...parameters: unknown[]) => unknown };
  const { query } = prototype;
  prototype.query = function (this: unknown, ...parameters: unknown[]) {
    const [sent] = parameters;
    const text = typeof sent === 'string' ? sent : (sent as { text?: string }).text;
    const answer = Reflect.apply(query, this, parameters);
    if (text === undefined || !(answer instanceof Promise)) return answer;
    const statement: CountedStatement = { connection: this, text: text.trim() };
    statements.push(statement);
    return answer.then((result: { rows?: unknown[] }) => {
      statement.rows = result.rows?.length ?? 0;
      return result;
    });
  };
  return { statements, stop: () => void (prototype.query = query) };
}
