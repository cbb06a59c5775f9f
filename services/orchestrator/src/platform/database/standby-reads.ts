import { ApiError } from '@uswarm/contract';
import { initializedCounter, type Logger, type Registry, withinDeadline } from '@uswarm/service-kit';
import type { ReadRoutePosition } from '../http/handlers.js';
import type { ReadPosition } from '../http/routes.js';
import { type BoundedRead, createBoundedRead, ReadTimeout } from './bounded-read.js';
import type { Database } from './database.js';

/** The primary or a standby, with the reads that differ between them. */
export interface ReadSource {
  database: Database;
  boundedRead: BoundedRead;
  /** Reads the position of the request's workspace. */
  readPosition: ReadRoutePosition;
}

export interface StandbyRead {
  workspaceId: string;
  /** `epoch:seq` that the client has seen; undefined reads the primary. */
  seen: string | undefined;
  /** Of the primary. */
  readPosition: ReadRoutePosition;
}

/**
 * Runs `read` on the standby if it has the events that the client has seen, and on the primary otherwise, also if the
 * standby fails.
 */
export type ReadFromStandby = <T>(request: StandbyRead, read: (source: ReadSource) => Promise<T>) => Promise<T>;

/** `ReadFromStandby` for one request. */
export type ReadAnywhere = <T>(read: (source: ReadSource) => Promise<T>) => Promise<T>;

export interface StandbyReadsDeps {
  primary: Database;
  /** Absent: all reads use the primary. */
  standby?: { database: Database; readPosition: ReadPosition };
  metrics: Registry;
  logger: Pick<Logger, 'warn' | 'info'>;
}

/** Milliseconds for the standby's position; a standby that hangs costs the first request this much. */
const POSITION_DEADLINE_MS = 500;
/** Milliseconds for which the standby is not asked, after it failed. */
const PAUSE_MS = 5_000;

/** True if data at position `at` contains everything up to `seen`. Both are `epoch:seq`. */
function covers(at: string | undefined, seen: string): boolean {
  const [epoch, seq] = at?.split(':') ?? [];
  const [seenEpoch, seenSeq] = seen.split(':');
  return epoch === seenEpoch && Number(seq) >= Number(seenSeq);
}

export function createStandbyReads({ primary, standby, metrics, logger }: StandbyReadsDeps): ReadFromStandby {
  const boundedPrimary = createBoundedRead(primary);
  const outcomes = initializedCounter(
    metrics,
    'uswarm_standby_reads_total',
    'Total message lists and searches that a standby may serve, by outcome.',
    { outcome: ['standby', 'behind', 'unavailable'] },
  );
  if (standby === undefined) {
    return ({ readPosition }, read) => read({ database: primary, boundedRead: boundedPrimary, readPosition });
  }
  const { database, readPosition: standbyPosition } = standby;
  const boundedStandby = createBoundedRead(database);
  let pausedUntil = 0;
  let reported = false;

  function failed(error: unknown): void {
    pausedUntil = performance.now() + PAUSE_MS;
    outcomes.inc({ outcome: 'unavailable' });
    if (!reported) logger.warn({ err: error }, 'reading from the standby failed; using the primary');
    reported = true;
  }

  async function isAt(workspaceId: string, seen: string): Promise<boolean> {
    if (performance.now() < pausedUntil) {
      outcomes.inc({ outcome: 'unavailable' });
      return false;
    }
    try {
      const position = await withinDeadline(standbyPosition('workspace', workspaceId), POSITION_DEADLINE_MS);
      if (reported) logger.info('reading from the standby again');
      reported = false;
      if (covers(position, seen)) return true;
      outcomes.inc({ outcome: 'behind' });
    } catch (error) {
      failed(error);
    }
    return false;
  }

  return async ({ workspaceId, seen, readPosition }, read) => {
    if (seen !== undefined && (await isAt(workspaceId, seen))) {
      try {
        const readOwn: ReadRoutePosition = (db) => standbyPosition('workspace', workspaceId, db);
        const result = await read({ database, boundedRead: boundedStandby, readPosition: readOwn });
        outcomes.inc({ outcome: 'standby' });
        return result;
      } catch (error) {
        if (error instanceof ReadTimeout) throw error;
        if (!(error instanceof ApiError)) failed(error);
        // The primary may have what the standby does not have yet, such as a message that the client has just sent.
        else if (error.status === 404) outcomes.inc({ outcome: 'behind' });
        else throw error;
      }
    }
    return read({ database: primary, boundedRead: boundedPrimary, readPosition });
  };
}
