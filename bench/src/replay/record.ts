import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type RequestListener } from 'node:http';
import { listen } from '@uswarm/service-kit';
import pg from 'pg';
import type { SeenStatement } from './template.js';

/** Records an application's statements in this process. */
export interface Recorder {
  url: string;
  /** The statements since the last call, in order. */
  take(): SeenStatement[];
  /** One recorded statement per distinct text. */
  everyStatement(): SeenStatement[];
  close(): Promise<void>;
}

interface Recording {
  statements: SeenStatement[];
}

/**
 * Serves the application and records each statement that it executes for a request. Statements of background work are
 * not recorded.
 */
export async function startRecorder(app: RequestListener): Promise<Recorder> {
  const requests = new AsyncLocalStorage<Recording>();
  const restore = watchQueries((statement) => requests.getStore()?.statements.push(statement));
  let recordings: Recording[] = [];
  const every = new Map<string, SeenStatement>();
  const server = createServer((request, response) => {
    const recording: Recording = { statements: [] };
    recordings.push(recording);
    requests.run(recording, () => app(request, response));
  });
  const running = await listen(server, { host: '127.0.0.1', port: 0 });
  return {
    url: running.url,
    take() {
      const taken = recordings.flatMap(({ statements }) => statements);
      for (const statement of taken) every.set(statement.text, statement);
      recordings = [];
      return taken;
    },
    everyStatement: () => [...every.values()],
    async close() {
      await running.close();
      restore();
    },
  };
}

/** Calls the listener for every statement in this process. @returns a function that stops it */
function watchQueries(seen: (statement: SeenStatement) => void): () => void {
  const prototype = pg.Client.prototype as unknown as { query: (...parameters: unknown[]) => unknown };
  const { query } = prototype;
  prototype.query = function (this: unknown, ...parameters: unknown[]) {
    const statement = statementOf(parameters);
    const answer = Reflect.apply(query, this, parameters);
    if (statement === undefined || !(answer instanceof Promise)) return answer;
    seen(statement);
    return answer.then((result: { rows?: unknown[] }) => {
      const seq = onlySeq(result.rows ?? []);
      if (seq !== undefined) statement.seq = seq;
      return result;
    });
  };
  return () => void (prototype.query = query);
}

/** Parses the arguments of `query(text, values?)` and `query({ name, text, values })`. */
function statementOf([query, given]: unknown[]): SeenStatement | undefined {
  const { name, text, values }: Partial<pg.QueryConfig> =
    typeof query === 'object' && query !== null ? query : { text: query as string, values: given as unknown[] };
  if (typeof text !== 'string') return undefined;
  return { ...(name === undefined ? {} : { name }), text, values: Array.isArray(values) ? [...values] : [] };
}

function onlySeq(rows: readonly unknown[]): number | undefined {
  const seq = rows.length === 1 ? (rows[0] as { seq?: unknown }).seq : undefined;
  return typeof seq === 'number' ? seq : undefined;
}
