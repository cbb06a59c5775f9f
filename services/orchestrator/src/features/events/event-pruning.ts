import type { Clock, Logger } from '@uswarm/service-kit';
import type { WorkResult } from '../../work/work-queue.js';
import type { LeasedWork } from '../../work/work.store.js';
import type { EventStore } from './events.store.js';

export const EVENT_PRUNING_WORK = 'event-pruning';

const NOBODY = '00000000-0000-0000-0000-000000000000';
/** Work that removes old events: one row, of no workspace, due at every start. */
export const EVENT_PRUNING = { kind: EVENT_PRUNING_WORK, subjectId: NOBODY, workspaceId: NOBODY };

const HOUR_MS = 3_600_000;
const AT_ONCE = 5_000;

export interface EventPruningDeps {
  store: Pick<EventStore, 'prune'>;
  /** Milliseconds that a published event is kept. */
  keepMs: number;
  clock: Clock;
  logger: Logger;
}

/** Handles the row: removes what is too old, in small transactions, once an hour. */
export function createEventPruning({ store, keepMs, clock, logger }: EventPruningDeps) {
  return async (_work: LeasedWork, signal: AbortSignal): Promise<WorkResult> => {
    const before = new Date(clock.now().getTime() - keepMs);
    let removed = 0;
    for (let last = AT_ONCE; last === AT_ONCE && !signal.aborted; removed += last) {
      last = await store.prune(before, AT_ONCE);
    }
    if (removed > 0) logger.info({ removed, before }, 'old events were removed');
    return { againInMs: signal.aborted ? 0 : HOUR_MS };
  };
}
