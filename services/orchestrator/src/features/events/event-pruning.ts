import { createPruning, type PruningDeps, pruningRow } from '../../jobs/pruning.js';
import type { EventStore } from './events.store.js';

export const EVENT_PRUNING_JOB = 'event-pruning';

export const EVENT_PRUNING = pruningRow(EVENT_PRUNING_JOB);

export interface EventPruningDeps extends Pick<PruningDeps, 'keepMs' | 'clock' | 'logger'> {
  store: Pick<EventStore, 'prune'>;
}

/** Deletes published events that exceed the retention time. */
export const createEventPruning = ({ store, ...deps }: EventPruningDeps) =>
  createPruning({ ...deps, prune: store.prune, removed: 'old events were removed' });
