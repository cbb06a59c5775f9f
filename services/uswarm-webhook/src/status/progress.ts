import {
  type Condition,
  foreignFinalizers,
  START_DEADLINE_S,
  SYNC_FAILURES,
  type SyncRequest,
  WEBHOOK_FAILURES,
} from '@uswarm/contract/userswarm';
import { REVISION } from '../observed/annotations.js';
import type { DatabaseState } from '../render/settings.js';
import { evicted, lossCause, type RuntimeHistory } from './lost-reason.js';
import {
  type Deployment,
  livePods,
  namespaceState,
  type Observed,
  type Pod,
  podsOf,
  sinceOf,
} from '../observed/observed.js';
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
  /** The start limiter has queued the runtime. */
  queued: boolean;
  now: Date;
}

/** Why a runtime is not Ready: the first matching cause, else Starting. */
export function progressOf(input: ProgressInput): Progress {
  const { request, namespace, observed, database, queued } = input;
  return (
    namespaceProblem(request, namespace) ??
    applyProblem(request.parent.status?.conditions) ??
    heldChild(observed) ??
    (queued ? QUEUED : undefined) ??
    runtimeProblem(input) ??
    (database === 'unreachable' ? DATABASE_UNREACHABLE : undefined) ?? {
      reason: 'Starting',
      // Equal before and after the children's creation, to save a status write.
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
    evicted(podsOf(request, namespace), historyOf(request))
  );
}

/** Why the pod does not start, from the pod or its Deployment. Causes of a lost readiness are not included. */
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

function historyOf({ parent: { metadata, status } }: SyncRequest): RuntimeHistory {
  const running = status?.conditions?.find(({ type, status: is }) => type === 'Suspended' && is === 'False');
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return { since: running?.lastTransitionTime ?? metadata.creationTimestamp ?? '', ready };
}

const QUEUED: Progress = { reason: 'Queued', message: 'The start concurrency limit is reached.' };

export const DATABASE_UNREACHABLE: Progress = {
  reason: 'DatabaseUnreachable',
  message: 'The runtime database is unreachable.',
};

function namespaceProblem(request: SyncRequest, namespace: string): Progress | undefined {
  const state = namespaceState(request, namespace);
  const reason = 'NamespaceMissing';
  if (state === 'missing') {
    const remedy = 'helm upgrade creates runtime.namespace, but none of runtime.extraNamespaces.';
    return { reason, message: `The namespace ${namespace} does not exist. ${remedy}` };
  }
  if (state === 'terminating') return { reason, message: `The namespace ${namespace} is being deleted.` };
  return undefined;
}

/** The failure that the controller reported in `Synced`. */
function applyProblem(conditions: readonly Condition[] = []): Progress | undefined {
  const synced = conditions.find(({ type }) => type === 'Synced');
  // The webhook is reachable now.
  if (synced?.status !== 'False' || WEBHOOK_FAILURES.has(synced.reason)) return undefined;
  const known = (SYNC_FAILURES as readonly string[]).includes(synced.reason);
  return { reason: known ? synced.reason : 'ApplyFailed', message: synced.message };
}

/** A deleted child that the runtime needs, and that another program keeps: until then, it cannot be created again. */
function heldChild({ deployment, service }: Observed): Progress | undefined {
  for (const child of [deployment, service]) {
    if (child?.metadata.deletionTimestamp === undefined) continue;
    const { namespace, name } = child.metadata;
    const foreign = foreignFinalizers(child.metadata);
    if (foreign.length === 0) continue;
    const what = `${child.kind} ${namespace}/${name}`;
    const message = `The ${what} is being deleted and waits for its finalizers: ${foreign.join(', ')}.`;
    return { reason: 'ApplyFailed', message };
  }
  return undefined;
}

/** Creating the pod was refused. */
function replicaProblem(deployment: Deployment | undefined): Progress | undefined {
  const failure = conditionOf(deployment, 'ReplicaFailure');
  if (failure?.status !== 'True') return undefined;
  // Without the pod's name, which differs for each attempt.
  const message = `The pod was rejected: ${(failure.message ?? '').replace(/^pods "[^"]*" is forbidden: /, '')}`;
  if (message.includes('exceeded quota')) return { reason: 'QuotaExceeded', message };
  return { reason: /is forbidden: /.test(failure.message ?? '') ? 'Forbidden' : 'ApplyFailed', message };
}

const TOO_LATE: Progress = { reason: 'StartDeadlineExceeded', message: 'The runtime did not become ready in time.' };

function deadline(deployment: Deployment | undefined): Progress | undefined {
  const progressing = conditionOf(deployment, 'Progressing');
  return progressing?.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded' ? TOO_LATE : undefined;
}

/**
 * A Deployment that completed once never exceeds its progress deadline, so the deadline for a resumed runtime or a lost
 * pod is checked here: from when it became unavailable, or its newest pod was created.
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

/** True if all children exist as last rendered and the pod is ready. `pods` are the live ones; empty if not sent. */
export function isAvailable(
  { serviceAccount, service, deployment }: Observed,
  rendered: Deployment,
  pods: readonly Pod[],
): boolean {
  if (serviceAccount === undefined || service === undefined || deployment === undefined) return false;
  if (deployment.metadata.deletionTimestamp !== undefined || service.metadata.deletionTimestamp !== undefined)
    return false;
  if (deployment.metadata.annotations?.[REVISION] !== rendered.metadata.annotations?.[REVISION]) return false;
  // The spec never changed, so the pod is up to date. The Deployment's status lags behind the pod's.
  if (deployment.metadata.generation === 1 && pods.length > 0) return pods.some(isReady);
  const { observedGeneration = 0, updatedReplicas = 0, readyReplicas = 0 } = deployment.status ?? {};
  return observedGeneration >= (deployment.metadata.generation ?? 0) && updatedReplicas >= 1 && readyReplicas >= 1;
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
