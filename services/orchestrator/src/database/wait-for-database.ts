import { type Logger, retry } from '@uswarm/service-kit';
import pg from 'pg';

/** The database did not answer, or refuses us; the message is a sentence for people. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable';
}

export interface WaitForDatabase {
  url: string;
  /** Milliseconds; a start in any order is normal, one without a database is not. */
  deadlineMs: number;
  logger: Logger;
}

const CONNECT_MS = 3_000;
const RETRY = { initialMs: 200, maxMs: 2_000 };
/** Postgres starts or stops, or has no connection left just now. */
const PASSING = new Set(['57P01', '57P02', '57P03', '53300']);

/** Whether Postgres itself refused, for a reason that waiting does not change: a password, a name. */
function isFinal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !PASSING.has(error.code ?? '');
}

async function connectOnce(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
  });
  // One that breaks later than it is asked for would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Resolves once the database answers. @throws DatabaseUnavailable */
export async function waitForDatabase({ url, deadlineMs, logger }: WaitForDatabase): Promise<void> {
  let told = false;
  const attempt = async (): Promise<void> => {
    try {
      await connectOnce(url);
    } catch (error) {
      if (!told && !isFinal(error)) logger.warn({ err: error }, 'waiting for the database');
      told = true;
      throw error;
    }
  };
  try {
    await retry(attempt, { ...RETRY, deadlineMs, retryable: (error) => !isFinal(error) });
  } catch (error) {
    const cause =
      error instanceof Error && error.message !== '' ? error.message : String((error as { code?: unknown }).code);
    const sentence = isFinal(error)
      ? `the database refuses the connection: ${cause}`
      : `the database did not answer within ${Math.round(deadlineMs / 1_000)} seconds: ${cause}`;
    throw new DatabaseUnavailable(sentence, { cause: error });
  }
}
