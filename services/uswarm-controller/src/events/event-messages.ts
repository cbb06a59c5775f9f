import { type Condition, FAILURE_REASONS, readyUntil } from '@uswarm/contract/userswarm';
import type { ChildStep } from '../apply/apply-children.js';
import { CONTESTED_ROUNDS } from '../apply/contest.js';
import { nameOf } from '../apply/child-writer.js';
import { type Status, syncedChanged, syncedOf } from '../status/merge.js';
import type { RecordedEvent } from './event-recorder.js';

const DONE = {
  create: ['ChildCreated', 'Created'],
  update: ['ChildUpdated', 'Updated'],
  delete: ['ChildDeleted', 'Deleted'],
} as const;

/** The Event for a child that was written. */
export function childEvent(step: ChildStep): RecordedEvent {
  const { verb, object } = step;
  if (isContested(step)) {
    const who = step.rewrittenBy === undefined ? 'Another client' : `The field manager ${step.rewrittenBy}`;
    const message = `${who} keeps changing ${nameOf(object)}. The controller corrects it with increasing back-off. Let only one of the two manage it.`;
    return { type: 'Warning', reason: 'Contested', message };
  }
  const [reason, done] = DONE[verb];
  return { type: 'Normal', reason, message: `${done} ${nameOf(object)}` };
}

/**
 * True if an Event is to be recorded. Creating the children of a new UserSwarm is not recorded: three Events per
 * UserSwarm would double the number of writes.
 */
const isContested = ({ rounds = 0 }: ChildStep): boolean => rounds >= CONTESTED_ROUNDS;

export const worthRecording = ({ verb }: ChildStep, status: Status | undefined): boolean =>
  verb !== 'create' || status !== undefined;

/** `isRecorded`: whether it becomes an Event. All are logged. */
export interface StatusEvent {
  event: RecordedEvent;
  isRecorded: boolean;
}

/** Events by UserSwarm status. */
export interface StatusEvents {
  /** Events for a new status: a new phase, a new cause in the same phase, and a changed Synced condition. */
  changed(uid: string, before: Status | undefined, after: Status): StatusEvent[];
  forget(uid: string): void;
}

/** A start that ends without a Warning is not recorded: its Event would be one write in seven. */
export function createStatusEvents(): StatusEvents {
  /** UserSwarms with a Warning since they were Ready. */
  const warned = new Set<string>();
  return {
    changed(uid, before, after) {
      const events = [...phaseEvents(before, after), ...syncEvents(before, after)];
      const isQuiet = isStarted(before, after) && !warned.has(uid);
      if (after['phase'] === 'Ready') warned.delete(uid);
      if (events.some(({ type }) => type === 'Warning')) warned.add(uid);
      return events.map((event) => ({ event, isRecorded: !isQuiet || event.reason !== 'Ready' }));
    },
    forget: (uid) => void warned.delete(uid),
  };
}

/** True if a runtime is Ready for the first time since it was created or resumed. */
const isStarted = (before: Status | undefined, after: Status): boolean =>
  before?.['phase'] === 'Progressing' && after['phase'] === 'Ready' && readyUntil(before) === undefined;

function phaseEvents(before: Status | undefined, after: Status): RecordedEvent[] {
  const [from, to] = [before?.['phase'], after['phase']];
  if (typeof to !== 'string') return [];
  const ready = readyOf(after);
  // Every UserSwarm starts as Progressing.
  const begins = from === undefined && to === 'Progressing';
  if (from === to || begins) return causeEvents(before, after);
  const why = ready === undefined || ready.message === '' ? '' : `: ${ready.message}`;
  const moved = typeof from === 'string' ? `${from} → ${to}` : to;
  if (to === 'Progressing' && ready !== undefined && CAUSES.has(ready.reason)) {
    return [{ type: 'Warning', reason: ready.reason, message: `${moved}${why}` }];
  }
  return [{ type: to === 'Error' ? 'Warning' : 'Normal', reason: to, message: `${moved}${why}` }];
}

/**
 * The cause of Progressing changed. A reason that `Synced` has or had comes from our own writes and is covered by
 * `syncEvents`; otherwise it comes from the pod, such as a quota on pods.
 */
function causeEvents(before: Status | undefined, after: Status): RecordedEvent[] {
  const ready = readyOf(after);
  const reason = readyOf(before)?.reason;
  if (reason === 'Unreachable' && ready?.reason === 'Available') return [REACHED];
  if (ready === undefined || ready.reason === reason || !CAUSES.has(ready.reason)) return [];
  const covered = [before, after].some((status) => {
    const synced = syncedOf(status);
    return synced?.status === 'False' && synced.reason === ready.reason;
  });
  return covered ? [] : [{ type: 'Warning', reason: ready.reason, message: ready.message }];
}

const CAUSES = new Set([...Object.keys(FAILURE_REASONS), 'Unreachable']);

const REACHED: RecordedEvent = {
  type: 'Normal',
  reason: 'Reachable',
  message: 'The orchestrator reaches the runtime again.',
};

const readyOf = (status: Status | undefined): Condition | undefined =>
  ((status?.['conditions'] ?? []) as Condition[]).find(({ type }) => type === 'Ready');

function syncEvents(before: Status | undefined, after: Status): RecordedEvent[] {
  if (!syncedChanged(before, after)) return [];
  const synced = syncedOf(after);
  if (synced?.status === 'False') return [{ type: 'Warning', reason: synced.reason, message: synced.message }];
  const failed = syncedOf(before)?.status === 'False';
  return synced?.status === 'True' && failed ? [{ type: 'Normal', reason: 'Synced', message: synced.message }] : [];
}
