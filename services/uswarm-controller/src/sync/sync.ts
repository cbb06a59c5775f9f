import { type SyncFailure, type SyncResponse, type UserSwarm } from '@uswarm/contract/userswarm';
import {
  isConflict,
  isNotFound,
  keyOf,
  type KubeClient,
  KubeError,
  type KubernetesObject,
  type Resource,
} from '@uswarm/kube-client';
import type { Clock } from '@uswarm/service-kit';
import {
  type AppliedViews,
  applyChildren,
  type ChildStep,
  type Contests,
  countRound,
  isFirstStart,
  planChildren,
  runsPod,
  withoutContested,
} from '../apply/apply-children.js';
import type { ChildWriter } from '../apply/child-writer.js';
import { desiredChild, ownerReferenceTo } from '../apply/desired.js';
import { ApplyError, busyError, ServerBusy, RequeueError } from '../apply/failure.js';
import { removePods } from '../apply/remove-pods.js';
import type { Hook } from '../hook/hook-client.js';
import { HookBusy, HookError } from '../hook/hook-error.js';
import { OUTAGE_SHOWN_MS } from '../hook/outage.js';
import { type Caches, runtimeNamespaceOf } from '../caches/caches.js';
import type { NamespaceScope } from '../caches/namespace-scope.js';
import { isAboutToStart, type StartLimiter, withQueuedStatus } from '../starts/start-limiter.js';
import { nextStatus, type Status, SYNCED, type Synced, syncedChanged } from '../status/merge.js';
import { statusWithoutFinalizer } from '../status/without-finalizer.js';
import { needsWebhook, statusWithoutWebhook } from '../status/without-webhook.js';
import { type SentStatus, writeStatus } from '../status/write-status.js';
import { addFinalizer, FINALIZER, hasFinalizer, ORPHAN_FINALIZER, removeFinalizer } from './finalizer.js';
import { isDeploymentOrphaned } from './orphaned.js';
import { podsOf } from '../caches/runtime-pods.js';
import { observeChildren, observeRelated, type Observed } from './request.js';
import { HarmfulResponse, requireOwnChildren, requireRunningChildren } from './response-children.js';
import { cannotObserveReason } from './visibility.js';

/** Reconcile result. */
export interface SyncResult {
  outcome: 'synced' | 'failed' | 'again' | 'waiting' | 'finalized' | 'gone';
  /** The webhook must observe a change: reconcile again immediately. */
  requeue?: boolean;
  /** Seconds until an additional reconcile, for the webhook or for a delayed status. */
  resyncAfterS?: number;
  /** Minimum back-off in milliseconds after a failure. */
  retryAfterMs?: number;
  reason?: SyncFailure;
  /** The error for the log. */
  error?: Error;
}

/** In-memory UserSwarm state between two reconciles. Losing it costs at most a write without a change. */
export interface Memory {
  applied: AppliedViews;
  contests: Contests;
  status: SentStatus | undefined;
  /** Start of the webhook outage for this UserSwarm, in monotonic milliseconds. */
  outageSince: number | undefined;
  /** The webhook failure that the status names, and when it was written, in monotonic milliseconds. */
  outageShown: { cause: string; at: number } | undefined;
  /** When the API server first refused the children as busy, in monotonic milliseconds. */
  busySince: number | undefined;
}

export const emptyMemory = (): Memory => ({
  applied: new Map(),
  contests: new Map(),
  status: undefined,
  outageSince: undefined,
  outageShown: undefined,
  busySince: undefined,
});

export interface SyncDeps {
  client: Pick<KubeClient, 'delete' | 'get' | 'mergePatch' | 'replace'>;
  writer: ChildWriter;
  hook: Pick<Hook, 'call'>;
  starts: Pick<StartLimiter, 'admit' | 'forget'>;
  caches: Pick<Caches, 'parents' | 'namespaces' | 'scope'>;
  resource: Resource;
  controller: KubernetesObject;
  clock: Clock;
  /** Monotonic milliseconds. */
  elapsed?: () => number;
  /** Milliseconds of a webhook outage after which a UserSwarm that needs it reports it. */
  outageShownMs?: number;
  onChild: (parent: KubernetesObject, step: ChildStep) => void;
  onStatus: (parent: KubernetesObject, before: Status | undefined, after: Status) => void;
}

export interface SyncOptions {
  memory: Memory;
  /** Number of consecutive failures before. A transient fault is reported from the second failure on. */
  failures: number;
  signal: AbortSignal;
}

/** Reasons that the next attempt, a fraction of a second later, often resolves. */
const PASSING: ReadonlySet<SyncFailure> = new Set(['ApplyFailed']);

/**
 * Reconciles one UserSwarm from the caches: calls the sync hook, applies the children, and writes the status. An error
 * never deletes an object or removes the finalizer.
 */
export async function syncUserSwarm(deps: SyncDeps, key: string, options: SyncOptions): Promise<SyncResult> {
  const { caches } = deps;
  const cached = caches.parents.get(key);
  if (cached === undefined) return { outcome: 'gone' };
  const deleting = cached.metadata.deletionTimestamp !== undefined;
  if (deleting && hasFinalizer(cached, ORPHAN_FINALIZER)) return { outcome: 'waiting' };
  const scope = caches.scope(runtimeNamespaceOf(cached));
  if (scope?.state() === 'loading') return { outcome: 'waiting' };
  try {
    if (deleting && !hasFinalizer(cached, FINALIZER)) return await awaitOthers(deps, cached, scope, options);
    const hidden = cannotObserveReason(cached, scope);
    if (hidden !== undefined) {
      deps.starts.forget(key);
      return await finishReconcile(deps, cached, undefined, new ApplyError('Forbidden', hidden), options);
    }
    // Without children, no finalizer is needed.
    const held = deleting || scope === undefined || hasFinalizer(cached, FINALIZER);
    const parent = held ? cached : await ensureFinalizer(deps, cached, options.signal);
    return await reconcile(deps, parent, scope, options);
  } catch (error) {
    return refreshStale(deps, cached, error, options.signal);
  }
}

/** Reports which other programs keep a UserSwarm that the controller has released. */
async function awaitOthers(
  deps: SyncDeps,
  cached: KubernetesObject,
  scope: NamespaceScope | undefined,
  options: SyncOptions,
): Promise<SyncResult> {
  const observed = observeChildren(cached.metadata.uid ?? '', scope);
  const remaining = Object.values(observed).flatMap((group) =>
    Object.entries(group).map(([key, { kind }]) => `${kind} ${key}`),
  );
  const after = statusWithoutFinalizer(cached, remaining, deps.clock.now());
  if (after === undefined) return { outcome: 'waiting' };
  const { outcome, resyncAfterS } = await store(deps, cached, after, options);
  if (outcome === 'again') return { outcome, requeue: true };
  return { outcome: 'waiting', ...(resyncAfterS === undefined ? {} : { resyncAfterS }) };
}

const ensureFinalizer = (
  { caches, client, resource }: SyncDeps,
  cached: KubernetesObject,
  signal: AbortSignal,
): Promise<KubernetesObject> =>
  caches.parents.write(keyOf(cached), () => addFinalizer(client, resource, cached, signal));

async function reconcile(
  deps: SyncDeps,
  parent: KubernetesObject,
  scope: NamespaceScope | undefined,
  options: SyncOptions,
): Promise<SyncResult> {
  const key = keyOf(parent);
  const finalizing = parent.metadata.deletionTimestamp !== undefined;
  const observed = observeChildren(parent.metadata.uid ?? '', scope);
  const orphaned = finalizing && (await isDeploymentOrphaned(deps.client, parent, scope, options.signal));
  const related = observeRelated(parent, deps.caches.namespaces, orphaned ? undefined : scope);
  const starts = isAboutToStart(parent, observed);
  const queued = starts && !deps.starts.admit(parent);
  const userSwarm = withQueuedStatus(parent as unknown as UserSwarm, queued);
  const startedAt = (deps.elapsed ?? monotonic)();
  let response: SyncResponse;
  try {
    const request = { controller: deps.controller, parent: userSwarm, children: observed, related, finalizing };
    response = requireOwnChildren(await deps.hook.call(request, options.signal), parent, scope);
    requireRunningChildren(response, parent, observed);
  } catch (error) {
    if (!(error instanceof HookError)) throw error;
    if (!queued) deps.starts.forget(key);
    return handleHookFailure(deps, parent, observed, { error, startedAt }, options);
  }
  options.memory.outageSince = undefined;
  options.memory.outageShown = undefined;
  let failure: ApplyError | RequeueError | undefined;
  let done: Applied = { requeue: false, waitMs: undefined };
  try {
    done = await apply(deps, parent, scope, observed, response, options);
    if (finalizing && !orphaned && response.children.length === 0 && scope !== undefined) {
      const { client } = deps;
      await removePods({ client, pods: scope.pods }, parent.metadata.name, podsOf(parent, scope), options.signal);
    }
  } catch (error) {
    failure = failureOf(error, options.signal);
  }
  // A runtime that did not start releases its start slot.
  if (starts && !queued && (failure !== undefined || !response.children.some(runsPod))) deps.starts.forget(key);
  if (finalizing && response.finalized === true && failure === undefined) {
    await removeFinalizer(deps.client, deps.resource, parent, options.signal);
    return { outcome: 'finalized' };
  }
  if (failure instanceof ServerBusy) {
    const reported = busyFor(deps, failure, options.memory);
    if (reported === undefined) return busy(failure);
    failure = reported;
  } else options.memory.busySince = undefined;
  const { waitMs = 0 } = done;
  const result = await finishReconcile(deps, parent, response.status, failure, options);
  const waits = [response.resyncAfterSeconds ?? 0, result.resyncAfterS ?? 0, waitMs / 1_000];
  const due = waits.filter((seconds) => seconds > 0);
  return {
    ...result,
    requeue: done.requeue || result.requeue === true,
    ...(due.length === 0 ? {} : { resyncAfterS: Math.min(...due) }),
  };
}

/** A response that no rule foresees fails somewhere within: it is reported, and not only logged. */
function failureOf(error: unknown, signal: AbortSignal): ApplyError | RequeueError {
  if (error instanceof ApplyError || error instanceof RequeueError) return error;
  if (signal.aborted || error instanceof KubeError || !(error instanceof Error)) throw error;
  return new ApplyError(
    'ApplyFailed',
    `the children in the response of the webhook cannot be applied (${error.name})`,
    error,
  );
}

/**
 * An overloaded API server is not loaded further with a status or an Event. Only a lasting server error, such as an
 * unavailable admission webhook, is reported.
 */
function busyFor({ elapsed = monotonic }: SyncDeps, error: ServerBusy, memory: Memory): ApplyError | undefined {
  const now = elapsed();
  memory.busySince ??= now;
  if (error.status === 429 || now - memory.busySince < BUSY_SHOWN_MS) return undefined;
  return new ApplyError('ApplyFailed', error.message, error);
}

/** Milliseconds after which an API server error is reported. */
const BUSY_SHOWN_MS = 60_000;

const busy = (error: ServerBusy): SyncResult => ({ outcome: 'again', error, retryAfterMs: error.retryAfterMs });

const monotonic = (): number => performance.now();

/**
 * Without a response, no child is changed. After some seconds, the status reports the outage if the UserSwarm needs the
 * webhook. Writing it for each UserSwarm and each short outage would cost more than the outage.
 */
async function handleHookFailure(
  deps: SyncDeps,
  parent: KubernetesObject,
  observed: Observed,
  { error, startedAt }: { error: HookError; startedAt: number },
  options: SyncOptions,
): Promise<SyncResult> {
  const { outageShownMs = OUTAGE_SHOWN_MS, elapsed = monotonic, clock } = deps;
  const { memory } = options;
  memory.outageSince ??= startedAt;
  const now = elapsed();
  const lastedMs = Math.max(error.outageMs, now - memory.outageSince);
  const failed = failedCall(error);
  if (lastedMs < outageShownMs) return sooner(failed, outageShownMs - lastedMs);
  if (!(error instanceof HarmfulResponse) && !needsWebhook(parent, observed)) return failed;
  // A webhook that fails in turns in two ways does not cause a write for each.
  const shown = memory.outageShown?.cause === error.message ? undefined : memory.outageShown;
  if (shown !== undefined && now - shown.at < outageShownMs) return sooner(failed, outageShownMs - (now - shown.at));
  const after = statusWithoutWebhook(parent, observed, { error, now: clock.now() });
  const { outcome, resyncAfterS } = await store(deps, parent, after, options);
  if (outcome === 'again') return { outcome, requeue: true };
  if (memory.outageShown?.cause !== error.message) memory.outageShown = { cause: error.message, at: now };
  return resyncAfterS === undefined ? failed : sooner(failed, resyncAfterS * 1_000);
}

/** Result of a failed call: a busy webhook is called again when it asks for it. */
function failedCall(error: HookError): SyncResult {
  if (!(error instanceof HookBusy)) return { outcome: 'failed', reason: error.reason, error };
  const { retryAfterS } = error;
  return retryAfterS === undefined
    ? { outcome: 'again', error }
    : { outcome: 'waiting', resyncAfterS: Math.max(retryAfterS, MIN_BUSY_S) };
}

const sooner = (result: SyncResult, ms: number): SyncResult => ({
  ...result,
  resyncAfterS: Math.min(result.resyncAfterS ?? Infinity, ms / 1_000),
});

/** Minimum delay in seconds, so that `Retry-After: 0` does not cause a busy loop. */
const MIN_BUSY_S = 0.2;

interface Applied {
  /** True if the webhook must observe our write. */
  requeue: boolean;
  /** Milliseconds until a contested child may be corrected, if one is in back-off. */
  waitMs: number | undefined;
}

/** @throws ApplyError, RequeueError */
async function apply(
  deps: SyncDeps,
  parent: KubernetesObject,
  scope: NamespaceScope | undefined,
  observed: Observed,
  response: SyncResponse,
  { memory, signal }: SyncOptions,
): Promise<Applied> {
  const children = response.children as KubernetesObject[];
  const namespace = runtimeNamespaceOf(parent);
  if (scope === undefined) return { requeue: false, waitMs: undefined };
  if (scope.state() === 'absent') {
    if (children.length === 0) return { requeue: false, waitMs: undefined };
    throw new ApplyError('NamespaceMissing', `namespace ${namespace} does not exist`);
  }
  const owner = ownerReferenceTo(parent);
  const desired = children.map((child) => desiredChild(child, owner));
  const { writer, elapsed = monotonic } = deps;
  const planned = planChildren(desired, observed, memory.applied);
  const { due, waitMs } = withoutContested(planned, memory.contests, elapsed());
  const onWritten = (step: ChildStep): void => deps.onChild(parent, countRound(step, memory.contests, elapsed()));
  const finalizing = parent.metadata.deletionTimestamp !== undefined;
  const deploymentPropagation = finalizing ? 'Background' : 'Foreground';
  const stores = scope.children;
  await applyChildren({ writer, stores, deploymentPropagation, onWritten }, due, memory.applied, signal);
  // A pod that exists may not change any more: a new Deployment adopts it.
  const waitsForPod = isFirstStart(due) && podsOf(parent, scope).length === 0;
  return { requeue: due.length > 0 && !waitsForPod, waitMs };
}

/** Writes the resulting status, including `Synced`. */
async function finishReconcile(
  deps: SyncDeps,
  parent: KubernetesObject,
  answered: Status | undefined,
  failure: ApplyError | RequeueError | undefined,
  { memory, failures, signal }: SyncOptions,
): Promise<SyncResult> {
  const synced = syncedVerdict(failure, failures);
  const after = nextStatus(parent as unknown as UserSwarm, answered, synced, deps.clock.now());
  const written = await store(deps, parent, after, { memory, signal });
  if (written.outcome === 'again') return { outcome: 'again', requeue: true };
  const { requeue, ...later } = written;
  if (failure === undefined) return { ...later, outcome: 'synced', requeue };
  return failure instanceof RequeueError
    ? { ...later, outcome: 'again', error: failure }
    : { ...later, outcome: 'failed', reason: failure.reason, requeue, error: failure };
}

/** Writes a status. @returns when to reconcile again; `again` if the UserSwarm changed since it was observed */
async function store(
  deps: SyncDeps,
  parent: KubernetesObject,
  after: Status,
  { memory, signal }: Pick<SyncOptions, 'memory' | 'signal'>,
): Promise<{ outcome?: 'again'; requeue: boolean; resyncAfterS?: number }> {
  const before = parent['status'] as Status | undefined;
  const { parents } = deps.caches;
  const done = await writeStatus({ ...deps, parents }, parent, after, memory.status, signal);
  if (done === undefined) return { outcome: 'again', requeue: true };
  memory.status = done.sent;
  if (done.written) deps.onStatus(parent, before, after);
  const requeue = done.written && syncedChanged(before, after);
  return { requeue, ...(done.waitMs === undefined ? {} : { resyncAfterS: done.waitMs / 1_000 }) };
}

function syncedVerdict(failure: ApplyError | RequeueError | undefined, failures: number): Synced | undefined {
  if (failure === undefined) return SYNCED;
  if (failure instanceof RequeueError) return undefined;
  if (PASSING.has(failure.reason) && failures === 0) return undefined;
  return { status: 'False', reason: failure.reason, message: failure.message };
}

/** Refreshes the store if the UserSwarm was changed or deleted during the reconcile. */
async function refreshStale(
  deps: SyncDeps,
  cached: KubernetesObject,
  error: unknown,
  signal: AbortSignal,
): Promise<SyncResult> {
  const { client, resource, caches } = deps;
  if (isNotFound(error)) {
    caches.parents.deleted(cached);
    return { outcome: 'gone' };
  }
  const overload = busyError(error);
  if (overload !== undefined) {
    return busy(new ServerBusy(`a request for the UserSwarm failed: ${overload.message}`, overload));
  }
  if (!isConflict(error)) throw error;
  try {
    caches.parents.written(await client.get(resource, cached.metadata, signal));
    return { outcome: 'again', requeue: true };
  } catch (missing) {
    if (!isNotFound(missing)) throw missing;
    caches.parents.deleted(cached);
    return { outcome: 'gone' };
  }
}
