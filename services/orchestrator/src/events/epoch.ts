import type { Logger } from '@uswarm/service-kit';
import { type RawBuilder, sql } from 'kysely';
import type { ConnectedClient, Database } from '../platform/database/database.js';
import { createPollLoop, type PollLoop } from '../platform/jobs/poll-loop.js';

/** The event log's epoch. A client with events from another epoch reloads its workspaces. */
export interface Epochs {
  /** SQL for statements that read the epoch together with a position. */
  sql: RawBuilder<string>;
  /** As `sql` and `noted`, for a standby: it does not change the epoch of events. */
  standby: Pick<Epochs, 'sql' | 'noted'>;
  read(db: Database): Promise<string>;
  /** Changes the epoch; processes use the new one within 5 s. @returns the new epoch */
  bump(db: Database): Promise<string>;
  /** The epoch that this process read last; for events, which readers check against a position. */
  current(): string;
  /** Stores the epoch that a statement read with `sql`. @returns the epoch */
  noted(row: { epoch: string } | undefined): string;
  /** Reads the epoch on a new connection, before the first result of any other statement. */
  onConnect(client: ConnectedClient): void;
  /** Reads the epoch periodically until it is closed: an operator may change it. */
  watch(database: Database, logger: Pick<Logger, 'warn'>): PollLoop;
}

const READ_MS = 5_000;

/** Both functions need no rights. They report the current timeline; the last checkpoint's timeline changes later. */
const HISTORY = `(SELECT system_identifier FROM pg_control_system()) || '.' || left(pg_walfile_name(pg_current_wal_lsn()), 8)`;

/** A standby reports no WAL file. Its control file has the timeline of the last checkpoint, so it is late, but never early. */
const STANDBY_HISTORY = `(SELECT system_identifier FROM pg_control_system()) || '.' ||
  (SELECT lpad(upper(to_hex(timeline_id)), 8, '0') FROM pg_control_checkpoint())`;

/** The epoch in the history that Postgres reports. */
const epochOf = (history: string): string =>
  `left(encode(sha256(convert_to(${history} || '.' || (SELECT bumps FROM event_epoch), 'UTF8')), 'hex'), 16)`;

const epochIn = (row: { epoch: string } | undefined): string => {
  if (row === undefined) throw new Error('Postgres returned no epoch');
  return row.epoch;
};

/** @param fixed replaces the history that Postgres reports: for installations whose failover loses nothing */
export function createEpochs(fixed?: string): Epochs {
  const fixedHistory = fixed === undefined ? undefined : `'${fixed}'`;
  const text = epochOf(fixedHistory ?? HISTORY);
  const expression = sql.raw<string>(text);
  let last: string | undefined;

  const noted = (row: { epoch: string } | undefined): string => {
    last = epochIn(row);
    return last;
  };

  async function select(db: Database): Promise<{ epoch: string } | undefined> {
    return (await sql<{ epoch: string }>`SELECT ${expression} AS epoch`.execute(db)).rows[0];
  }

  const read = async (db: Database): Promise<string> => noted(await select(db));

  return {
    sql: expression,
    noted,
    standby: { sql: sql.raw<string>(epochOf(fixedHistory ?? STANDBY_HISTORY)), noted: epochIn },

    read,

    async bump(db) {
      await sql`UPDATE event_epoch SET bumps = bumps + 1`.execute(db);
      // Not noted: the transaction may fail.
      return (await select(db))?.epoch ?? '';
    },

    current() {
      if (last === undefined) throw new Error('the epoch was not read yet');
      return last;
    },

    watch: (database, logger) =>
      createPollLoop({
        round: async () => {
          await read(database);
          return false;
        },
        pollMs: READ_MS,
        onError: (error) => logger.warn({ err: error }, 'reading the epoch failed'),
      }),

    onConnect(client) {
      client.query(`SELECT ${text} AS epoch`).then(
        ({ rows }) => noted(rows[0] as { epoch: string } | undefined),
        // The statement that opened the connection reports the failure.
        () => undefined,
      );
    },
  };
}
