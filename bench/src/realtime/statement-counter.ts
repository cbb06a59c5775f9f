import type { CloseStack } from '@uswarm/service-kit';
import { redirect, startTapProxy, type Tap } from './tap-proxy.js';

/** A statement that a benchmark server has sent to Postgres. */
export interface SentStatement {
  /** The connection. */
  connection: number;
  text: string;
  /** The rows that it returned; undefined until it ends. */
  rows?: number;
}

/** Counts statements between a server and Postgres, at the protocol: pipelined and prepared ones too. */
export interface StatementCounter {
  /** Database URL through the counter. */
  url: string;
  /** The statements since the last call. */
  take(): SentStatement[];
}

/** Splits a stream of typed messages: one byte, and a length that includes itself. */
function createSplitter(message: (type: string, body: Buffer) => void, hasStartup: boolean) {
  let rest: Buffer = Buffer.alloc(0);
  let started = !hasStartup;
  return (data: Buffer): void => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data]);
    for (;;) {
      const head = started ? 1 : 0;
      if (rest.length < head + 4) return;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return;
      // A client's first message has no type.
      if (started) message(String.fromCharCode(rest[0] ?? 0), rest.subarray(5, length));
      started = true;
      rest = rest.subarray(length);
    }
  };
}

/** The text until the next zero byte, and the position after it. */
function cString(body: Buffer, start = 0): [text: string, next: number] {
  const end = body.indexOf(0, start);
  return [body.toString('utf8', start, end), end + 1];
}

/** Records what one connection sends. */
export function tapStatements(connection: number, record: (statement: SentStatement) => void): Required<Tap> {
  const prepared = new Map<string, string>();
  /** Bytes until each point at which the server is ready again; a client may send more before it is. */
  const running: SentStatement[][] = [[]];
  let bound = '';
  let rows = 0;
  const send = (text: string): void => {
    const statement = { connection, text: text.trim() };
    record(statement);
    running.at(-1)?.push(statement);
  };
  return {
    there: createSplitter((type, body) => {
      if (type === 'Q') send(cString(body)[0]);
      if (type === 'Q' || type === 'S') running.push([]);
      if (type === 'E') send(bound);
      if (type === 'P') {
        const [name, next] = cString(body);
        prepared.set(name, cString(body, next)[0]);
      }
      if (type === 'B') bound = prepared.get(cString(body, cString(body)[1])[0]) ?? '';
    }, true),
    back: createSplitter((type) => {
      if (type === 'D') rows += 1;
      if (type === 'C') {
        const statement = running[0]?.shift();
        if (statement !== undefined) statement.rows = rows;
        rows = 0;
      }
      // After an error the server skips what was sent until then.
      if (type === 'Z') {
        if (running.length > 1) running.shift();
        rows = 0;
      }
    }, false),
  };
}

export async function startStatementCounter(databaseUrl: string, stack: CloseStack): Promise<StatementCounter> {
  let statements: SentStatement[] = [];
  let connections = 0;
  const host = await startTapProxy(
    () => databaseUrl,
    () => {
      connections += 1;
      return tapStatements(connections, (statement) => statements.push(statement));
    },
    stack,
  );
  return {
    url: redirect(databaseUrl, host),
    take() {
      const taken = statements;
      statements = [];
      return taken;
    },
  };
}
