import type { Condition } from '@uswarm/contract/userswarm';
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

/** What is told of a new status: another phase, and syncs that begin to fail, fail otherwise, or go well again. */
export function statusEvents(before: Status | undefined, after: Status): RecordedEvent[] {
  return [...phaseEvents(before, after), ...syncEvents(before, after)];
}

function phaseEvents(before: Status | undefined, after: Status): RecordedEvent[] {
  const [from, to] = [before?.['phase'], after['phase']];
  if (typeof to !== 'string' || from === to) return [];
  const ready = ((after['conditions'] ?? []) as Condition[]).find(({ type }) => type === 'Ready');
  const why = ready === undefined || ready.message === '' ? '' : `: ${ready.message}`;
  const moved = typeof from === 'string' ? `${from} → ${to}` : to;
  return [{ type: to === 'Error' ? 'Warning' : 'Normal', reason: to, message: `${moved}${why}` }];
}

function syncEvents(before: Status | undefined, after: Status): RecordedEvent[] {
  if (!syncedChanged(before, after)) return [];
  const synced = syncedOf(after);
  if (synced?.status === 'False') return [{ type: 'Warning', reason: synced.reason, message: synced.message }];
  const failed = syncedOf(before)?.status === 'False';
  return synced?.status === 'True' && failed ? [{ type: 'Normal', reason: 'Synced', message: synced.message }] : [];
}
