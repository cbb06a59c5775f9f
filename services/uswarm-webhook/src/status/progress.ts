import { type Condition, START_DEADLINE_S, SYNC_FAILURES, type SyncRequest } from '@uswarm/contract/userswarm';
import { REVISION } from '../render/revision.js';
import type { DatabaseState } from '../render/settings.js';
import { evicted, lossCause } from './lost-reason.js';
import { type Deployment, livePods, namespaceState, type Observed, type Pod, podsOf, sinceOf } from './observed.js';
import { podCause } from './pod-reason.js';
import { stuckCause } from './stuck-reason.js';

export interface Progress {
  reason: string;
  message: string;
}

export interface ProgressInput {
  request: SyncRequest;
  namespace: string;
  observed: Observed;
  image: string;
  database: DatabaseState;
  /** Others start first. */
  queued: boolean;
  now: Date;
}

/** Why a runtime is not Ready: the first cause that applies, else that it is starting. */
export function progressOf(input: ProgressInput): Progress {
  const { request, namespace, database, queued } = input;
  return (
    namespaceProblem(request, namespace) ??
    applyProblem(request.parent.status?.conditions) ??
    (queued ? QUEUED : undefined) ??
    runtimeProblem(input) ??
    (database === 'unreachable' ? DATABASE_UNREACHABLE : undefined) ?? {
      reason: 'Starting',
      // The same before and after its children are made: another sentence would be another write.
      message: 'The runtime is starting.',
    }
  );
}

function runtimeProblem({ request, namespace, observed, image, now }: ProgressInput): Progress | undefined {
  const { deployment } = observed;
  return (
    startProblem(request, namespace, deployment, image) ??
    lossCause(livePods(request, namespace)) ??
    deadline(deployment) ??
    overdue(request, namespace, deployment, now) ??
    evicted(podsOf(request, namespace), runsSince(request))
  );
}

/** Why the pod does not come up, if it or its Deployment says so. What may befall a runtime that came up is not in it. */
export const podProblem = (
  request: SyncRequest,
  namespace: string,
  deployment: Deployment | undefined,
  image: string,
): Progress | undefined => startProblem(request, namespace, deployment, image) ?? deadline(deployment);

function startProblem(
  request: SyncRequest,
  namespace: string,
  deployment: Deployment | undefined,
  image: string,
): Progress | undefined {
  const pods = livePods(request, namespace);
  return replicaProblem(deployment) ?? podCause(pods, image) ?? stuckCause(pods, request);
}

/** When it was created or last resumed. */
function runsSince({ parent: { metadata, status } }: SyncRequest): string {
  const running = status?.conditions?.find(({ type, status: is }) => type === 'Suspended' && is === 'False');
  return running?.lastTransitionTime ?? metadata.creationTimestamp ?? '';
}

const QUEUED: Progress = { reason: 'Queued', message: 'As many runtimes start as may start at once.' };

export const DATABASE_UNREACHABLE: Progress = {
  reason: 'DatabaseUnreachable',
  message: 'The database that runtimes are given does not answer.',
};

function namespaceProblem(request: SyncRequest, namespace: string): Progress | undefined {
  const state = namespaceState(request, namespace);
  const reason = 'NamespaceMissing';
  if (state === 'missing') return { reason, message: `The namespace ${namespace} does not exist.` };
  if (state === 'terminating') return { reason, message: `The namespace ${namespace} is being deleted.` };
  return undefined;
}

/** What the controller said of the children it tried to write. */
function applyProblem(conditions: readonly Condition[] = []): Progress | undefined {
  const synced = conditions.find(({ type }) => type === 'Synced');
  // An unreachable webhook is over by the time it reads of it.
  if (synced?.status !== 'False' || synced.reason === 'WebhookUnavailable') return undefined;
  const known = (SYNC_FAILURES as readonly string[]).includes(synced.reason);
  return { reason: known ? synced.reason : 'ApplyFailed', message: synced.message };
}

/** The pod itself was refused. */
function replicaProblem(deployment: Deployment | undefined): Progress | undefined {
  const failure = conditionOf(deployment, 'ReplicaFailure');
  if (failure?.status !== 'True') return undefined;
  // Without the pod's name, which is another one at each attempt.
  const message = `The pod is refused: ${(failure.message ?? '').replace(/^pods "[^"]*" is forbidden: /, '')}`;
  if (message.includes('exceeded quota')) return { reason: 'QuotaExceeded', message };
  return { reason: /is forbidden: /.test(failure.message ?? '') ? 'Forbidden' : 'ApplyFailed', message };
}

const TOO_LATE: Progress = { reason: 'StartDeadlineExceeded', message: 'The runtime did not become ready in time.' };

function deadline(deployment: Deployment | undefined): Progress | undefined {
  const progressing = conditionOf(deployment, 'Progressing');
  return progressing?.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded' ? TOO_LATE : undefined;
}

/**
 * A Deployment that was complete once never exceeds its own deadline, so one that was resumed or lost its pod is timed
 * here: from when it became unavailable, or its newest pod was created.
 */
function overdue(
  request: SyncRequest,
  namespace: string,
  deployment: Deployment | undefined,
  now: Date,
): Progress | undefined {
  if (deployment === undefined) return undefined;
  const unavailableSince = sinceOf(deployment, 'Available', 'False');
  if (unavailableSince === undefined) return undefined;
  const created = livePods(request, namespace).at(0)?.metadata.creationTimestamp ?? '';
  const since = Date.parse(created > unavailableSince ? created : unavailableSince);
  return now.getTime() - since >= START_DEADLINE_S * 1_000 ? TOO_LATE : undefined;
}

const conditionOf = (deployment: Deployment | undefined, type: string) =>
  deployment?.status?.conditions?.find((condition) => condition.type === type);

/** Everything is there, as last rendered, and the pod answers. `pods` are the live ones, none if they are not shown. */
export function isAvailable(
  { serviceAccount, service, deployment }: Observed,
  rendered: Deployment,
  pods: readonly Pod[],
): boolean {
  if (serviceAccount === undefined || service === undefined || deployment === undefined) return false;
  if (deployment.metadata.deletionTimestamp !== undefined || service.metadata.deletionTimestamp !== undefined)
    return false;
  if (deployment.metadata.annotations?.[REVISION] !== rendered.metadata.annotations?.[REVISION]) return false;
  // Its spec never changed, so the pod is as last rendered. The status of the Deployment lags behind the pod's.
  if (deployment.metadata.generation === 1 && pods.length > 0) return pods.some(isReady);
  const { observedGeneration = 0, updatedReplicas = 0, readyReplicas = 0 } = deployment.status ?? {};
  return observedGeneration >= (deployment.metadata.generation ?? 0) && updatedReplicas >= 1 && readyReplicas >= 1;
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
