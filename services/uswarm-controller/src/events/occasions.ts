import { type Condition, FAILURE_REASONS, SYNC_FAILURES } from '@uswarm/contract/userswarm';
import type { ChildStep } from '../apply/apply-children.js';
import { nameOf } from '../apply/child-writer.js';
import { type Status, syncedChanged, syncedOf } from '../status/merge.js';
import type { RecordedEvent } from './event-recorder.js';

const DONE = {
  create: ['ChildCreated', 'Created'],
  update: ['ChildUpdated', 'Updated'],
  delete: ['ChildDeleted', 'Deleted'],
} as const;

/** What is told of a child that was written. */
export function childEvent({ verb, object }: ChildStep): RecordedEvent {
  const [reason, done] = DONE[verb];
  return { type: 'Normal', reason, message: `${done} ${nameOf(object)}` };
}

/**
 * Whether it is worth an Event. That a new UserSwarm gets its children goes without saying: three Events
 * for each are as many writes as the children are.
 */
export const isNews = ({ verb }: ChildStep, status: Status | undefined): boolean =>
  verb !== 'create' || status !== undefined;

/** What is told of a new status: another phase, another cause in the same phase, and syncs that begin to fail, fail otherwise, or go well again. */
export function statusEvents(before: Status | undefined, after: Status): RecordedEvent[] {
  return [...phaseEvents(before, after), ...syncEvents(before, after)];
}

function phaseEvents(before: Status | undefined, after: Status): RecordedEvent[] {
  const [from, to] = [before?.['phase'], after['phase']];
  if (typeof to !== 'string') return [];
  const ready = readyOf(after);
  // To be on the way is what each begins with.
  const begins = from === undefined && to === 'Progressing';
  if (from === to || begins) return causeEvents(readyOf(before), ready);
  const why = ready === undefined || ready.message === '' ? '' : `: ${ready.message}`;
  const moved = typeof from === 'string' ? `${from} → ${to}` : to;
  return [{ type: to === 'Error' ? 'Warning' : 'Normal', reason: to, message: `${moved}${why}` }];
}

/** Held up by something else than before; what our own writes ran into is told by `syncEvents`. */
function causeEvents(before: Condition | undefined, after: Condition | undefined): RecordedEvent[] {
  if (after === undefined || after.reason === before?.reason || !CAUSES.has(after.reason)) return [];
  return [{ type: 'Warning', reason: after.reason, message: after.message }];
}

const SYNC: readonly string[] = SYNC_FAILURES;
const CAUSES = new Set(Object.keys(FAILURE_REASONS).filter((reason) => !SYNC.includes(reason)));

const readyOf = (status: Status | undefined): Condition | undefined =>
  ((status?.['conditions'] ?? []) as Condition[]).find(({ type }) => type === 'Ready');

function syncEvents(before: Status | undefined, after: Status): RecordedEvent[] {
  if (!syncedChanged(before, after)) return [];
  const synced = syncedOf(after);
  if (synced?.status === 'False') return [{ type: 'Warning', reason: synced.reason, message: synced.message }];
  const failed = syncedOf(before)?.status === 'False';
  return synced?.status === 'True' && failed ? [{ type: 'Normal', reason: 'Synced', message: synced.message }] : [];
}
