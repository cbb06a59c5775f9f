import {
  childName,
  readyUntil,
  START,
  START_DEADLINE_S,
  START_QUEUED,
  type UserSwarm,
  type UserSwarmStatus,
} from '@uswarm/contract/userswarm';
import { type Change, keyOf, type KubernetesObject } from '@uswarm/kube-client';
import { runtimeNamespaceOf } from '../caches/caches.js';
import type { Observed } from '../sync/request.js';
import { StartSlots } from './start-slots.js';
import { type Compare, createStartQueue } from './start-queue.js';

/**
 * Limits how many runtimes start concurrently, because a node that pulls and starts hundreds of pods concurrently
 * starts none of them in time. A runtime holds a slot from its admission until it is Ready, fails for a named reason,
 * is suspended or deleted, or its slot expires. One that lost Ready holds none.
 */
export interface StartLimiter {
  /**
   * True if a runtime that is about to start may start. Otherwise it is queued and gets a free slot in order: first
   * come, first served.
   */
  admit(parent: KubernetesObject): boolean;
  /** Releases the slot or queue entry if a runtime does not start. */
  forget(key: string): void;
  /** Must be called for every UserSwarm change. */
  changed(change: Change): void;
  /** For a new leader: clears admissions and the queue, and keeps slots for runtimes whose status is Starting. */
  reset(): void;
  starting(): number;
  queued(): number;
}

export interface StartLimiterOptions {
  /** 0 disables the limit. */
  maxConcurrent: number;
  /** Enqueues a UserSwarm that got a slot. */
  wake: (key: string) => void;
  /** Milliseconds on a monotonic clock. */
  elapsed?: () => number;
  /** Milliseconds after which a slot expires. */
  slotMs?: number;
  /** Compares two places in the queue. */
  compare?: Compare;
}

/** Slightly longer than the start deadline, which normally frees the slot and reports the reason. In milliseconds. */
export const SLOT_MS = (START_DEADLINE_S + 30) * 1_000;

/** Each operation costs O(log n) in queue length. While a slot is free, the queue is empty. */
export function createStartLimiter(options: StartLimiterOptions): StartLimiter {
  const { maxConcurrent, wake, elapsed = () => performance.now(), slotMs = SLOT_MS, compare } = options;
  const slots = new StartSlots({ slotMs, elapsed });
  const waiting = createStartQueue(compare);

  const handOver = (): void => {
    while (slots.size < maxConcurrent) {
      const next = waiting.takeFirst();
      if (next === undefined) return;
      slots.admit(next);
      wake(next);
    }
  };
  const expire = (): void => {
    slots.expire();
    handOver();
  };
  return {
    admit(parent) {
      expire();
      const key = keyOf(parent);
      if (maxConcurrent === 0 || slots.has(key)) return true;
      if (slots.size >= maxConcurrent) {
        waiting.put(key, placeInQueue(parent));
        return false;
      }
      slots.admit(key);
      return true;
    },
    forget(key) {
      waiting.remove(key);
      if (slots.release(key)) handOver();
    },
    changed({ before, after }) {
      const parent = after ?? before;
      if (parent === undefined) return;
      const key = keyOf(parent);
      const runs = after !== undefined && isToRun(after);
      const reason = runs ? reasonOf(after) : undefined;
      if (!runs || reason === STARTING) waiting.remove(key);
      if (runs && reason === STARTING) slots.show(key, readyUntil(statusOf(after)) === undefined);
      else if (runs && (reason === undefined || NOT_STARTED.has(reason))) slots.hide(key);
      else slots.end(key);
      expire();
    },
    reset() {
      waiting.clear();
      slots.reset();
    },
    starting: () => slots.size,
    queued: () => waiting.size,
  };
}

const STARTING = 'Starting';
/** Reasons while an admitted runtime has not started yet. */
const NOT_STARTED: ReadonlySet<string> = new Set(['Queued', 'Suspended']);

const isToRun = (parent: KubernetesObject): boolean =>
  parent.metadata.deletionTimestamp === undefined && (parent['spec'] as { suspend?: boolean })?.suspend !== true;

const statusOf = (parent: KubernetesObject): UserSwarmStatus => (parent['status'] ?? {}) as UserSwarmStatus;

const reasonOf = (parent: KubernetesObject): string | undefined =>
  statusOf(parent).conditions?.find(({ type }) => type === 'Ready')?.reason;

/** The place by creation or last resume; equal for every leader. */
function placeInQueue(parent: KubernetesObject): string {
  const { conditions = [] } = statusOf(parent);
  const resumed = conditions.find(({ type, status }) => type === 'Suspended' && status === 'False');
  const { creationTimestamp = '', name } = parent.metadata;
  return `${resumed?.lastTransitionTime ?? creationTimestamp} ${creationTimestamp} ${name}`;
}

/** True if a pod that would be created now is a start: the runtime is to run and has no pod yet. */
export function isAboutToStart(parent: KubernetesObject, observed: Observed): boolean {
  if (!isToRun(parent)) return false;
  const key = `${runtimeNamespaceOf(parent)}/${childName(parent.metadata.name)}`;
  const deployment = observed['Deployment.apps/v1'][key];
  if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return true;
  return (deployment['spec'] as { replicas?: number }).replicas === 0;
}

/** The parent for the webhook with our queued annotation. A user's annotation of that name is removed. */
export function withQueuedStatus(parent: UserSwarm, queued: boolean): UserSwarm {
  const { [START]: theirs, ...annotations } = parent.metadata.annotations ?? {};
  if (!queued && theirs === undefined) return parent;
  const sent = queued ? { ...annotations, [START]: START_QUEUED } : annotations;
  return { ...parent, metadata: { ...parent.metadata, annotations: sent } };
}
