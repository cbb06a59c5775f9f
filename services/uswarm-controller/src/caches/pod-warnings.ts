import type { KubernetesObject } from '@uswarm/contract/userswarm';
import type { Change, KubeClient } from '@uswarm/kube-client';
import { EVENTS } from '../resources.js';

/**
 * Warning Events of pods that have a node and get no sandbox there. Why that is stands in no status, and all Events are
 * too many to watch. docs/adr/0017-list-events-of-stuck-pods-only.md
 */
export interface PodWarnings {
  /** What was last said of this pod, the newest first; empty unless it is stuck. */
  of(pod: KubernetesObject): readonly KubernetesObject[];
  /** To be called for every change of a pod. */
  changed(change: Change): void;
  stop(): void;
}

export interface PodWarningsDeps {
  /** The Warning Events of one pod; a failure is taken for none. */
  list: (pod: KubernetesObject, signal: AbortSignal) => Promise<readonly KubernetesObject[]>;
  /** The Events say something else than before. */
  onFound: (pod: KubernetesObject) => void;
  /** Milliseconds that a pod has to be stuck before its Events are listed, and between two lists of them. */
  periodMs?: number;
  /** Milliseconds between two lists of whatever pods. */
  pauseMs?: number;
}

interface Stuck {
  pod: KubernetesObject;
  due: number;
  warnings: readonly KubernetesObject[];
}

/** Reasons by which a kubelet or the attach controller tells why a pod does not get as far as its containers. */
const TELLING: ReadonlySet<unknown> = new Set([
  'FailedMount',
  'FailedAttachVolume',
  'FailedMapVolume',
  'FailedCreatePodSandBox',
  'NetworkNotReady',
]);
const MAX_WARNINGS = 5;

export function createPodWarnings(deps: PodWarningsDeps): PodWarnings {
  const { list, onFound, periodMs = 4_000, pauseMs = 100 } = deps;
  /** By uid, in the order in which they are due. */
  const stuck = new Map<string, Stuck>();
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  const lookAtFirst = async (): Promise<void> => {
    const [first] = stuck;
    if (first === undefined || first[1].due > performance.now()) return;
    const [uid, entry] = first;
    // The last in line from now on.
    stuck.delete(uid);
    stuck.set(uid, entry);
    entry.due = performance.now() + periodMs;
    const found = await list(entry.pod, stopping.signal).catch(() => []);
    if (stuck.get(uid) !== entry) return;
    const warnings = telling(found);
    const worthRecording = JSON.stringify(warnings) !== JSON.stringify(entry.warnings);
    entry.warnings = warnings;
    if (worthRecording) onFound(entry.pod);
  };
  const schedule = (): void => {
    const [first] = stuck;
    if (timer !== undefined || first === undefined || stopping.signal.aborted) return;
    const wait = Math.max(pauseMs, Math.ceil(first[1].due - performance.now()));
    timer = setTimeout(() => {
      void lookAtFirst().finally(() => {
        timer = undefined;
        schedule();
      });
    }, wait);
    timer.unref();
  };
  return {
    of: ({ metadata: { uid = '' } }) => stuck.get(uid)?.warnings ?? [],
    changed({ before, after }) {
      const uid = (after ?? before)?.metadata.uid ?? '';
      const known = stuck.get(uid);
      if (after === undefined || !isStuck(after)) stuck.delete(uid);
      else if (known !== undefined) known.pod = after;
      else stuck.set(uid, { pod: after, due: performance.now() + periodMs, warnings: [] });
      schedule();
    },
    stop() {
      stopping.abort();
      clearTimeout(timer);
      stuck.clear();
    },
  };
}

/** More than one pod ever has of different ones; each counts its repetitions. */
const MAX_LISTED = 50;

/** Asks the API server. @throws KubeError */
export async function listPodWarnings(
  client: Pick<KubeClient, 'list'>,
  { metadata: { namespace, uid } }: KubernetesObject,
  signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const fieldSelector = `involvedObject.uid=${uid},type=Warning`;
  return (await client.list(EVENTS, { namespace, fieldSelector, limit: MAX_LISTED }, signal)).items;
}

/** It has a node, and no sandbox with a network there yet. */
export function isStuck({ metadata, ...pod }: KubernetesObject): boolean {
  const { nodeName } = (pod['spec'] ?? {}) as { nodeName?: string };
  const { phase, conditions = [] } = (pod['status'] ?? {}) as {
    phase?: string;
    conditions?: { type: string; status: string }[];
  };
  const hasSandbox = conditions.some(({ type, status }) => type === 'PodReadyToStartContainers' && status === 'True');
  return metadata.deletionTimestamp === undefined && nodeName !== undefined && phase === 'Pending' && !hasSandbox;
}

/** What the webhook needs of them; without counts and times, which change with each repetition. */
function telling(events: readonly KubernetesObject[]): KubernetesObject[] {
  return events
    .filter(({ reason }) => TELLING.has(reason))
    .toSorted((left, right) => lastSeen(right).localeCompare(lastSeen(left)))
    .slice(0, MAX_WARNINGS)
    .map(({ metadata: { name, namespace }, involvedObject, reason, message }) => ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
      involvedObject: { uid: (involvedObject as { uid?: string } | undefined)?.uid },
      reason,
      message,
    }));
}

function lastSeen(event: KubernetesObject): string {
  const { lastTimestamp, eventTime, series } = event as {
    lastTimestamp?: string | null;
    eventTime?: string | null;
    series?: { lastObservedTime?: string };
  };
  return series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? '';
}
