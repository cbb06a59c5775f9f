import { type Logger, retry } from '@uswarm/service-kit';
import pg from 'pg';

/** The database did not respond, or rejected the connection. Operators read the message. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable';
}

export interface WaitForDatabase {
  url: string;
  /** Milliseconds. Services can start before their database, but not without one. */
  deadlineMs: number;
  logger: Logger;
}

const CONNECT_MS = 3_000;
const RETRY = { initialMs: 200, maxMs: 2_000 };
/** Postgres is starting or stopping, or has no free connection. */
const TRANSIENT = new Set(['57P01', '57P02', '57P03', '53300']);

/** True if Postgres rejected the connection for a lasting reason, such as a wrong password or name. */
function isFinal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !TRANSIENT.has(error.code ?? '');
}

async function connectOnce(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
  });
  // Without a listener, an error after the query would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Resolves when the database responds. @throws DatabaseUnavailable */
export async function waitForDatabase({ url, deadlineMs, logger }: WaitForDatabase): Promise<void> {
  let warned = false;
  const attempt = async (): Promise<void> => {
    try {
      await connectOnce(url);
    } catch (error) {
      if (!warned && !isFinal(error)) logger.warn({ err: error }, 'waiting for the database');
      warned = true;
      throw error;
    }
  };
  try {
    await retry(attempt, { ...RETRY, deadlineMs, retryable: (error) => !isFinal(error) });
  } catch (error) {
    const cause =
      error instanceof Error && error.message !== '' ? error.message : String((error as { code?: unknown }).code);
    const sentence = isFinal(error)
      ? `the database rejected the connection: ${cause}`
      : `the database did not respond within ${Math.round(deadlineMs / 1_000)} seconds: ${cause}`;
    throw new DatabaseUnavailable(sentence, { cause: error });
  }
}
