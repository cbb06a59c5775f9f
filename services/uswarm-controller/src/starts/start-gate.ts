import {
  childName,
  type KubernetesObject,
  START,
  START_QUEUED,
  type UserSwarm,
  type UserSwarmStatus,
} from '@uswarm/contract/userswarm';
import { type Change, keyOf } from '@uswarm/kube-client';
import { runtimeNamespaceOf } from '../caches/caches.js';
import type { Observed } from '../sync/request.js';

/** Lets only so many runtimes start at once: a node that pulls and starts hundreds of pods starts none in time. */
export interface StartGate {
  /**
   * Whether a runtime that is about to start may. One that may not waits, and is woken in its turn:
   * first come, first served.
   */
  admit(parent: KubernetesObject): boolean;
  /** It does not start after all, and does not wait. */
  forget(key: string): void;
  /** To be called for every change of a UserSwarm. */
  changed(change: Change): void;
  /** Whoever begins to lead asks everybody anew. */
  reset(): void;
  starting(): number;
  queued(): number;
}

export interface StartGateOptions {
  /** 0 for no limit. */
  maxConcurrent: number;
  /** Has the UserSwarm asked again. */
  wake: (key: string) => void;
}

export function createStartGate({ maxConcurrent, wake }: StartGateOptions): StartGate {
  /** Their status says that they start. */
  const shown = new Set<string>();
  /** Let in, and their status does not say so yet. */
  const admitted = new Set<string>();
  /** Each with its place in the queue. */
  const waiting = new Map<string, string>();

  const starting = (): number => shown.size + [...admitted].filter((key) => !shown.has(key)).length;
  const free = (): number => maxConcurrent - starting();
  const wakeNext = (): void => {
    const places = Math.min(free(), waiting.size);
    if (places <= 0) return;
    const first = [...waiting].toSorted(([, left], [, right]) => (left < right ? -1 : 1)).slice(0, places);
    for (const [key] of first) wake(key);
  };
  const leave = (key: string): void => {
    const had = [shown, admitted].map((keys) => keys.delete(key));
    if (had.includes(true)) wakeNext();
  };
  return {
    admit(parent) {
      const key = keyOf(parent);
      if (maxConcurrent === 0 || shown.has(key) || admitted.has(key)) return true;
      const place = placeInQueue(parent);
      const before = [...waiting].filter(([other, at]) => other !== key && at < place).length;
      if (before >= free()) {
        waiting.set(key, place);
        return false;
      }
      waiting.delete(key);
      admitted.add(key);
      return true;
    },
    forget(key) {
      const waited = waiting.delete(key);
      leave(key);
      if (waited) wakeNext();
    },
    changed({ before, after }) {
      const parent = after ?? before;
      if (parent === undefined) return;
      const key = keyOf(parent);
      if (after === undefined || !isToRun(after)) {
        waiting.delete(key);
        leave(key);
        return;
      }
      const reason = reasonOf(after);
      if (reason === 'Starting') {
        shown.add(key);
        waiting.delete(key);
      } else if (reason !== undefined && !NOT_BEGUN.has(reason)) leave(key);
      else if (shown.delete(key)) wakeNext();
    },
    reset() {
      admitted.clear();
      waiting.clear();
    },
    starting,
    queued: () => waiting.size,
  };
}

/** What the status says of a runtime that was let in a moment ago. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['Queued', 'Suspended']);

const isToRun = (parent: KubernetesObject): boolean =>
  parent.metadata.deletionTimestamp === undefined && (parent['spec'] as { suspend?: boolean })?.suspend !== true;

const reasonOf = (parent: KubernetesObject): string | undefined =>
  ((parent['status'] ?? {}) as UserSwarmStatus).conditions?.find(({ type }) => type === 'Ready')?.reason;

/** By when it was to run: when it was made, or last resumed. The same for any leader. */
function placeInQueue({ metadata, ...parent }: KubernetesObject): string {
  const { conditions = [] } = (parent['status'] ?? {}) as UserSwarmStatus;
  const resumed = conditions.find(({ type, status }) => type === 'Suspended' && status === 'False');
  const { creationTimestamp = '', name } = metadata;
  return `${resumed?.lastTransitionTime ?? creationTimestamp} ${creationTimestamp} ${name}`;
}

/** Whether its pod, if it gets one, is one that does not run yet. */
export function isAboutToStart(parent: KubernetesObject, observed: Observed): boolean {
  if (!isToRun(parent)) return false;
  const key = `${runtimeNamespaceOf(parent)}/${childName(parent.metadata.name)}`;
  const deployment = observed['Deployment.apps/v1'][key];
  if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return true;
  return (deployment['spec'] as { replicas?: number }).replicas === 0;
}

/** What the webhook is shown: whether it may start, by our word alone. */
export function toldToWait(parent: UserSwarm, queued: boolean): UserSwarm {
  const { [START]: theirs, ...annotations } = parent.metadata.annotations ?? {};
  if (!queued && theirs === undefined) return parent;
  const told = queued ? { ...annotations, [START]: START_QUEUED } : annotations;
  return { ...parent, metadata: { ...parent.metadata, annotations: told } };
}
