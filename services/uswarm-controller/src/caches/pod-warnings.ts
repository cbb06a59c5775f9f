import type { Change, KubeClient, KubernetesObject } from '@uswarm/kube-client';
import { EVENTS } from '../resources.js';

/**
 * Warning Events about pods that are scheduled but have no sandbox. No status field has the cause, and watching all
 * Events is too expensive. docs/adr/0017-list-events-of-stuck-pods-only.md
 */
export interface PodWarnings {
  /** The last Warning Events about this pod, newest first; empty unless it is stuck. */
  of(pod: KubernetesObject): readonly KubernetesObject[];
  /** Must be called for every pod change. */
  changed(change: Change): void;
  stop(): void;
}

export interface PodWarningsDeps {
  /** Lists the Warning Events about these pods in one namespace. A failure counts as an empty list. */
  list: (pods: readonly KubernetesObject[], signal: AbortSignal) => Promise<readonly KubernetesObject[]>;
  /** Called when the Events have changed. */
  onFound: (pod: KubernetesObject) => void;
  /** Milliseconds for which a pod must be stuck before its Events are listed. */
  stuckMs?: number;
  /** Milliseconds between two lists for the same pod. */
  periodMs?: number;
  /** Minimum milliseconds between any two lists, so that one list serves pods that become stuck together. */
  pauseMs?: number;
}

interface Stuck {
  pod: KubernetesObject;
  due: number;
  warnings: readonly KubernetesObject[];
}

/** Event reasons from the kubelet and the attach controller for a pod whose containers cannot be created. */
const TELLING: ReadonlySet<unknown> = new Set([
  'FailedMount',
  'FailedAttachVolume',
  'FailedMapVolume',
  'FailedCreatePodSandBox',
  'NetworkNotReady',
]);
const MAX_WARNINGS = 5;

export function createPodWarnings(deps: PodWarningsDeps): PodWarnings {
  const { list, onFound, stuckMs = 7_000, periodMs = 4_000, pauseMs = 2_000 } = deps;
  /** By uid. */
  const stuck = new Map<string, Stuck>();
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  let lastListed = -Infinity;

  const takeDue = (): Map<string, Stuck> => {
    const now = performance.now();
    const due = new Map([...stuck].filter(([, entry]) => entry.due <= now));
    for (const entry of due.values()) entry.due = now + periodMs;
    return due;
  };
  const lookAtDue = async (): Promise<void> => {
    const due = takeDue();
    if (due.size === 0) return;
    const pods = [...due.values()].map(({ pod }) => pod);
    const found = Map.groupBy(await list(pods, stopping.signal).catch(() => []), uidOfPod);
    lastListed = performance.now();
    for (const [uid, entry] of due) {
      if (stuck.get(uid) !== entry) continue;
      const warnings = telling(found.get(uid) ?? []);
      const worthRecording = JSON.stringify(warnings) !== JSON.stringify(entry.warnings);
      entry.warnings = warnings;
      if (worthRecording) onFound(entry.pod);
    }
  };
  const schedule = (): void => {
    if (timer !== undefined || stuck.size === 0 || stopping.signal.aborted) return;
    let due = Infinity;
    // No spread: a call's number of arguments is limited.
    for (const entry of stuck.values()) due = Math.min(due, entry.due);
    const wait = Math.max(0, Math.ceil(Math.max(due, lastListed + pauseMs) - performance.now()));
    timer = setTimeout(() => {
      void lookAtDue().finally(() => {
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
      else stuck.set(uid, { pod: after, due: performance.now() + stuckMs, warnings: [] });
      schedule();
    },
    stop() {
      stopping.abort();
      clearTimeout(timer);
      stuck.clear();
    },
  };
}

/** Maximum number of Events in one response. */
const PAGE = 500;
/** Frequent Warning Events about pods that have a sandbox. */
const OTHERS = ['BackOff', 'Unhealthy'].map((reason) => `reason!=${reason}`);

/** Lists the Events about these pods in one namespace from the API server. @throws KubeError */
export async function listPodWarnings(
  client: Pick<KubeClient, 'list'>,
  pods: readonly KubernetesObject[],
  signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const [first] = pods;
  if (first === undefined) return [];
  const { namespace, uid } = first.metadata;
  // The API server reads all Events in the namespace for each list, so one list serves all pods.
  const which = pods.length === 1 ? [`involvedObject.uid=${uid}`] : ['involvedObject.kind=Pod', ...OTHERS];
  const fieldSelector = [...which, 'type=Warning'].join(',');
  const uids = new Set(pods.map(({ metadata }) => metadata.uid));
  const found: KubernetesObject[] = [];
  let continueToken: string | undefined;
  do {
    const page = await client.list(EVENTS, { namespace, fieldSelector, limit: PAGE, continueToken }, signal);
    found.push(...page.items.filter((event) => uids.has(uidOfPod(event))));
    ({ continueToken } = page);
  } while (continueToken !== undefined);
  return found;
}

const uidOfPod = ({ involvedObject }: KubernetesObject): string =>
  (involvedObject as { uid?: string } | undefined)?.uid ?? '';

/** True if the pod is scheduled and has no sandbox with a network yet. */
export function isStuck({ metadata, ...pod }: KubernetesObject): boolean {
  const { nodeName } = (pod['spec'] ?? {}) as { nodeName?: string };
  const { phase, conditions = [] } = (pod['status'] ?? {}) as {
    phase?: string;
    conditions?: { type: string; status: string }[];
  };
  const hasSandbox = conditions.some(({ type, status }) => type === 'PodReadyToStartContainers' && status === 'True');
  return metadata.deletionTimestamp === undefined && nodeName !== undefined && phase === 'Pending' && !hasSandbox;
}

/** The fields that the webhook needs, without counts and times, which change with each repetition. */
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
