import type { KubernetesObject, SyncFailure, SyncResponse, UserSwarm } from '@uswarm/contract/userswarm';
import { isConflict, isNotFound, keyOf, type KubeClient, type Resource } from '@uswarm/kube-client';
import type { Clock } from '@uswarm/service-kit';
import {
  type AppliedViews,
  applyChildren,
  type ChildStep,
  type Contests,
  countRound,
  planChildren,
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
import { needsWebhook, statusWithoutWebhook } from '../status/without-webhook.js';
import { type SentStatus, writeStatus } from '../status/write-status.js';
import { addFinalizer, FINALIZER, hasFinalizer, ORPHAN_FINALIZER, removeFinalizer } from './finalizer.js';
import { observeChildren, observeRelated, type Observed, podsOf } from './request.js';
import { cannotObserveReason } from './visibility.js';

/** How a sync ended. */
export interface SyncResult {
  outcome: 'synced' | 'failed' | 'again' | 'waiting' | 'finalized' | 'gone';
  /** Something changed that the webhook has to see: the next sync is due at once. */
  requeue?: boolean;
  /** Seconds until the webhook wants to be asked again, or the status is to be written, once. */
  resyncAfterS?: number;
  /** Milliseconds that the next attempt after a failure waits at least. */
  retryAfterMs?: number;
  reason?: SyncFailure;
  /** What went wrong, for the log. */
  error?: Error;
}

/** What is remembered of a UserSwarm between two syncs; losing it costs at most a write that changes nothing. */
export interface Memory {
  applied: AppliedViews;
  contests: Contests;
  status: SentStatus | undefined;
  /** Since when the webhook has given no usable answer about it, in milliseconds that pass. */
  unansweredSince: number | undefined;
  /** Since when the API server has been too busy for the children, in milliseconds that pass. */
  busySince: number | undefined;
}

export const emptyMemory = (): Memory => ({
  applied: new Map(),
  contests: new Map(),
  status: undefined,
  unansweredSince: undefined,
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
  /** Milliseconds that pass, whatever is done to the clock. */
  elapsed?: () => number;
  /** Milliseconds without the webhook after which a UserSwarm that needs it says so. */
  outageShownMs?: number;
  onChild: (parent: KubernetesObject, step: ChildStep) => void;
  onStatus: (parent: KubernetesObject, before: Status | undefined, after: Status) => void;
}

export interface SyncOptions {
  memory: Memory;
  /** How often in a row it failed before: a fault that may pass by itself is shown from the second time on. */
  failures: number;
  signal: AbortSignal;
}

/** Reasons that may be gone at the next try, which is a fraction of a second away. */
const PASSING: ReadonlySet<SyncFailure> = new Set(['ApplyFailed']);

/**
 * One sync of one UserSwarm, from what the caches hold: ask the webhook, make the children so, write
 * the status. An error of any kind deletes nothing and never removes the finalizer.
 *
 * spec: supporting §4.2
 */
export async function syncUserSwarm(deps: SyncDeps, key: string, options: SyncOptions): Promise<SyncResult> {
  const { caches } = deps;
  const cached = caches.parents.get(key);
  if (cached === undefined) return { outcome: 'gone' };
  const deleting = cached.metadata.deletionTimestamp !== undefined;
  if (deleting && (!hasFinalizer(cached, FINALIZER) || hasFinalizer(cached, ORPHAN_FINALIZER))) {
    return { outcome: 'waiting' };
  }
  const scope = caches.scope(runtimeNamespaceOf(cached));
  if (scope?.state() === 'loading') return { outcome: 'waiting' };
  try {
    const unseen = cannotObserveReason(cached, scope);
    if (unseen !== undefined) {
      deps.starts.forget(key);
      return await conclude(deps, cached, undefined, new ApplyError('Forbidden', unseen), options);
    }
    // Where we make nothing, nothing has to be waited for.
    const held = deleting || scope === undefined || hasFinalizer(cached, FINALIZER);
    const parent = held ? cached : await hold(deps, cached, options.signal);
    return await reconcile(deps, parent, scope, options);
  } catch (error) {
    return staleOr(deps, cached, error, options.signal);
  }
}

async function hold(deps: SyncDeps, cached: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject> {
  const held = await addFinalizer(deps.client, deps.resource, cached, signal);
  deps.caches.parents.written(held);
  return held;
}

async function reconcile(
  deps: SyncDeps,
  parent: KubernetesObject,
  scope: NamespaceScope | undefined,
  options: SyncOptions,
): Promise<SyncResult> {
  const key = keyOf(parent);
  const finalizing = parent.metadata.deletionTimestamp !== undefined;
  const observed = observeChildren(parent.metadata.uid ?? '', scope);
  const related = observeRelated(parent, deps.caches.namespaces, scope);
  const starts = isAboutToStart(parent, observed);
  const queued = starts && !deps.starts.admit(parent);
  const userSwarm = withQueuedStatus(parent as unknown as UserSwarm, queued);
  const startedAt = (deps.elapsed ?? monotonic)();
  let answer: SyncResponse;
  try {
    const request = { controller: deps.controller, parent: userSwarm, children: observed, related, finalizing };
    answer = inPlace(await deps.hook.call(request, options.signal), parent, scope);
  } catch (error) {
    if (!(error instanceof HookError)) throw error;
    if (!queued) deps.starts.forget(key);
    return unanswered(deps, parent, observed, { error, startedAt }, options);
  }
  options.memory.unansweredSince = undefined;
  let failure: ApplyError | RequeueError | undefined;
  let done: Applied = { wrote: false, waitMs: undefined };
  try {
    done = await apply(deps, parent, scope, observed, answer, options);
  } catch (error) {
    if (!(error instanceof ApplyError || error instanceof RequeueError)) throw error;
    failure = error;
  }
  // What did not begin, for whatever reason, keeps nobody else from it.
  if (starts && !queued && (failure !== undefined || !hasPod(answer))) deps.starts.forget(key);
  if (finalizing && answer.finalized === true && failure === undefined) {
    await removeFinalizer(deps.client, deps.resource, parent, options.signal);
    return { outcome: 'finalized' };
  }
  if (failure instanceof ServerBusy) {
    const told = busyFor(deps, failure, options.memory);
    if (told === undefined) return busy(failure);
    failure = told;
  } else options.memory.busySince = undefined;
  const { wrote, waitMs = 0 } = done;
  const result = await conclude(deps, parent, answer.status, failure, options);
  const waits = [answer.resyncAfterSeconds ?? 0, result.resyncAfterS ?? 0, waitMs / 1_000];
  const due = waits.filter((seconds) => seconds > 0);
  return {
    ...result,
    requeue: wrote || result.requeue === true,
    ...(due.length === 0 ? {} : { resyncAfterS: Math.min(...due) }),
  };
}

/**
 * An overloaded API server gets no status and no Event about it. Only a fault of its own that lasts, as an admission
 * webhook that cannot be called, is told.
 */
function busyFor({ elapsed = monotonic }: SyncDeps, error: ServerBusy, memory: Memory): ApplyError | undefined {
  const now = elapsed();
  memory.busySince ??= now;
  if (error.status === 429 || now - memory.busySince < BUSY_SHOWN_MS) return undefined;
  return new ApplyError('ApplyFailed', error.message, error);
}

/** Milliseconds that a fault of the API server's own has to last to be told. */
const BUSY_SHOWN_MS = 60_000;

const busy = (error: ServerBusy): SyncResult => ({ outcome: 'again', error, retryAfterMs: error.retryAfterMs });

const monotonic = (): number => performance.now();

/** @throws HookError for a child where this UserSwarm may have none: nothing of such an answer is carried out. */
function inPlace(answer: SyncResponse, parent: KubernetesObject, scope: NamespaceScope | undefined): SyncResponse {
  const namespace = runtimeNamespaceOf(parent);
  const foreign = answer.children.find((child) => scope === undefined || child.metadata.namespace !== namespace);
  if (foreign === undefined) return answer;
  const { kind, metadata } = foreign;
  const what = `${kind} ${metadata.namespace}/${metadata.name}`;
  const message = `the webhook's answer cannot be used: ${what} is not in a namespace that this UserSwarm may use`;
  throw new HookError('invalid', message);
}

/**
 * Without an answer nothing is changed. After some seconds, the status says so, if it is not true without the webhook;
 * writing it for each UserSwarm and each short outage would cost more than the outage.
 */
async function unanswered(
  deps: SyncDeps,
  parent: KubernetesObject,
  observed: Observed,
  { error, startedAt }: { error: HookError; startedAt: number },
  options: SyncOptions,
): Promise<SyncResult> {
  if (error instanceof HookBusy) {
    const { retryAfterS } = error;
    return retryAfterS === undefined
      ? { outcome: 'again', error }
      : { outcome: 'waiting', resyncAfterS: Math.max(retryAfterS, MIN_BUSY_S) };
  }
  const { outageShownMs = OUTAGE_SHOWN_MS, elapsed = monotonic, clock } = deps;
  options.memory.unansweredSince ??= startedAt;
  const lastedMs = Math.max(error.outageMs, elapsed() - options.memory.unansweredSince);
  const failed: SyncResult = { outcome: 'failed', reason: 'WebhookUnavailable', error };
  if (lastedMs < outageShownMs) return { ...failed, resyncAfterS: (outageShownMs - lastedMs) / 1_000 };
  if (!needsWebhook(parent, observed)) return failed;
  const after = statusWithoutWebhook(parent, observed, { cause: error.message, now: clock.now() });
  const { outcome, resyncAfterS } = await store(deps, parent, after, options);
  if (outcome === 'again') return { outcome, requeue: true };
  return resyncAfterS === undefined ? failed : { ...failed, resyncAfterS };
}

/** Seconds; a webhook that asks for none is not to be called in a loop. */
const MIN_BUSY_S = 0.2;

const hasPod = ({ children }: SyncResponse): boolean =>
  children.some(({ kind, spec }) => kind === 'Deployment' && (spec as { replicas?: number }).replicas !== 0);

interface Applied {
  /** Whether anything was written. */
  wrote: boolean;
  /** Milliseconds until a contested child may be put right, if one has to wait. */
  waitMs: number | undefined;
}

/** @throws ApplyError, RequeueError */
async function apply(
  deps: SyncDeps,
  parent: KubernetesObject,
  scope: NamespaceScope | undefined,
  observed: Observed,
  answer: SyncResponse,
  { memory, signal }: SyncOptions,
): Promise<Applied> {
  const children = answer.children as KubernetesObject[];
  const namespace = runtimeNamespaceOf(parent);
  if (scope === undefined) return { wrote: false, waitMs: undefined };
  if (scope.state() === 'absent') {
    if (children.length === 0) return { wrote: false, waitMs: undefined };
    throw new ApplyError('NamespaceMissing', `namespace ${namespace} does not exist`);
  }
  const owner = ownerReferenceTo(parent);
  const desired = children.map((child) => desiredChild(child, owner));
  const { client, writer, elapsed = monotonic } = deps;
  const planned = planChildren(desired, observed, memory.applied);
  const { due, waitMs } = withoutContested(planned, memory.contests, elapsed());
  const onWritten = (step: ChildStep): void => deps.onChild(parent, countRound(step, memory.contests, elapsed()));
  const finalizing = parent.metadata.deletionTimestamp !== undefined;
  const deletesDeployments = finalizing ? 'Background' : 'Foreground';
  const stores = scope.children;
  await applyChildren({ writer, stores, deletesDeployments, onWritten }, due, memory.applied, signal);
  if (finalizing && desired.length === 0) {
    await removePods({ client, pods: scope.pods }, parent.metadata.name, podsOf(parent, scope), signal);
  }
  return { wrote: due.length > 0, waitMs };
}

/** Writes the status that follows, with our own condition in it. */
async function conclude(
  deps: SyncDeps,
  parent: KubernetesObject,
  answered: Status | undefined,
  failure: ApplyError | RequeueError | undefined,
  { memory, failures, signal }: SyncOptions,
): Promise<SyncResult> {
  const synced = verdict(failure, failures);
  const after = nextStatus(parent as unknown as UserSwarm, answered, synced, deps.clock.now());
  const written = await store(deps, parent, after, { memory, signal });
  if (written.outcome === 'again') return { outcome: 'again', requeue: true };
  const { requeue, ...later } = written;
  if (failure === undefined) return { ...later, outcome: 'synced', requeue };
  return failure instanceof RequeueError
    ? { ...later, outcome: 'again', error: failure }
    : { ...later, outcome: 'failed', reason: failure.reason, requeue, error: failure };
}

/** Writes a status. @returns when to sync again because of it; `again` if the UserSwarm was not as it was seen. */
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

function verdict(failure: ApplyError | RequeueError | undefined, failures: number): Synced | undefined {
  if (failure === undefined) return SYNCED;
  if (failure instanceof RequeueError) return undefined;
  if (PASSING.has(failure.reason) && failures === 0) return undefined;
  return { status: 'False', reason: failure.reason, message: failure.message };
}

/** A UserSwarm that changed or went while we worked on it is fetched, so that the next sync sees it. */
async function staleOr(
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
    return busy(new ServerBusy(`the UserSwarm could not be written: ${overload.message}`, overload));
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
