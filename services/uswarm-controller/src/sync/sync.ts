import type { KubernetesObject, SyncFailure, SyncResponse, UserSwarm } from '@uswarm/contract/userswarm';
import { isConflict, isNotFound, keyOf, type KubeClient, type Resource } from '@uswarm/kube-client';
import type { Clock } from '@uswarm/service-kit';
import { type AppliedViews, applyChildren, type ChildStep, planChildren } from '../apply/apply-children.js';
import type { ChildWriter } from '../apply/child-writer.js';
import { desiredChild, ownerReferenceTo } from '../apply/desired.js';
import { ApplyError, TryAgain } from '../apply/failure.js';
import { removePods } from '../apply/remove-pods.js';
import { type Hook, HookError } from '../hook/hook-client.js';
import { type Caches, runtimeNamespaceOf } from '../caches/caches.js';
import type { NamespaceScope } from '../caches/namespace-scope.js';
import { isAboutToStart, type StartGate, toldToWait } from '../starts/start-gate.js';
import { nextStatus, type Status, SYNCED, type Synced, syncedChanged } from '../status/merge.js';
import { type SentStatus, writeStatus } from '../status/write-status.js';
import { addFinalizer, FINALIZER, hasFinalizer, ORPHAN_FINALIZER, removeFinalizer } from './finalizer.js';
import { observeChildren, observeRelated, type Observed, podsOf } from './request.js';
import { whyUnseen } from './unseen.js';

/** How a sync ended. */
export interface SyncResult {
  outcome: 'synced' | 'failed' | 'again' | 'waiting' | 'finalized' | 'gone';
  /** Something changed that the webhook has to see: the next sync is due at once. */
  requeue?: boolean;
  /** Seconds until the webhook wants to be asked again, or the status is to be written, once. */
  resyncAfterS?: number;
  reason?: SyncFailure;
  /** What went wrong, for the log. */
  error?: Error;
}

/** What is remembered of a UserSwarm between two syncs; losing it costs at most a write that changes nothing. */
export interface Memory {
  applied: AppliedViews;
  status: SentStatus | undefined;
}

export const emptyMemory = (): Memory => ({ applied: new Map(), status: undefined });

export interface SyncDeps {
  client: Pick<KubeClient, 'delete' | 'get' | 'mergePatch' | 'replace'>;
  writer: ChildWriter;
  hook: Pick<Hook, 'call'>;
  starts: Pick<StartGate, 'admit' | 'forget'>;
  caches: Pick<Caches, 'parents' | 'namespaces' | 'scope'>;
  resource: Resource;
  controller: KubernetesObject;
  clock: Clock;
  /** Milliseconds that pass, whatever is done to the clock. */
  elapsed?: () => number;
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
const PASSING: ReadonlySet<SyncFailure> = new Set(['WebhookUnavailable', 'ApplyFailed']);

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
    const unseen = whyUnseen(cached, scope);
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
  const swarm = toldToWait(parent as unknown as UserSwarm, queued);
  let answer: SyncResponse;
  try {
    const request = { controller: deps.controller, parent: swarm, children: observed, related, finalizing };
    answer = await deps.hook.call(request, options.signal);
  } catch (error) {
    if (!(error instanceof HookError)) throw error;
    if (!queued) deps.starts.forget(key);
    return conclude(deps, parent, undefined, new ApplyError('WebhookUnavailable', error.message, error), options);
  }
  let failure: ApplyError | TryAgain | undefined;
  let wrote = false;
  try {
    wrote = await apply(deps, parent, scope, observed, answer, options);
  } catch (error) {
    if (!(error instanceof ApplyError || error instanceof TryAgain)) throw error;
    failure = error;
  }
  // What did not begin, for whatever reason, keeps nobody else from it.
  if (starts && !queued && (failure !== undefined || !hasPod(answer))) deps.starts.forget(key);
  if (finalizing && answer.finalized === true && failure === undefined) {
    await removeFinalizer(deps.client, deps.resource, parent, options.signal);
    return { outcome: 'finalized' };
  }
  const result = await conclude(deps, parent, answer.status, failure, options);
  const due = [answer.resyncAfterSeconds ?? 0, result.resyncAfterS ?? 0].filter((seconds) => seconds > 0);
  return {
    ...result,
    requeue: wrote || result.requeue === true,
    ...(due.length === 0 ? {} : { resyncAfterS: Math.min(...due) }),
  };
}

const hasPod = ({ children }: SyncResponse): boolean =>
  children.some(({ kind, spec }) => kind === 'Deployment' && (spec as { replicas?: number }).replicas !== 0);

/** @returns whether anything was written. @throws ApplyError, TryAgain */
async function apply(
  deps: SyncDeps,
  parent: KubernetesObject,
  scope: NamespaceScope | undefined,
  observed: Observed,
  answer: SyncResponse,
  { memory, signal }: SyncOptions,
): Promise<boolean> {
  const children = answer.children as KubernetesObject[];
  const namespace = runtimeNamespaceOf(parent);
  const foreign = children.find((child) => scope === undefined || child.metadata.namespace !== namespace);
  if (foreign !== undefined) {
    const { kind, metadata } = foreign;
    const message = `the webhook's answer cannot be used: ${kind} ${metadata.namespace}/${metadata.name} is not in a namespace that this UserSwarm may use`;
    throw new ApplyError('WebhookUnavailable', message);
  }
  if (scope === undefined) return false;
  if (scope.state() === 'absent') {
    if (children.length === 0) return false;
    throw new ApplyError('NamespaceMissing', `namespace ${namespace} does not exist`);
  }
  const owner = ownerReferenceTo(parent);
  const desired = children.map((child) => desiredChild(child, owner));
  const steps = planChildren(desired, observed, memory.applied);
  const onWritten = (step: ChildStep): void => deps.onChild(parent, step);
  const finalizing = parent.metadata.deletionTimestamp !== undefined;
  const deletesDeployments = finalizing ? 'Background' : 'Foreground';
  const stores = scope.children;
  await applyChildren({ writer: deps.writer, stores, deletesDeployments, onWritten }, steps, memory.applied, signal);
  if (finalizing && desired.length === 0) {
    const { client } = deps;
    await removePods({ client, pods: scope.pods }, parent.metadata.name, podsOf(parent, scope), signal);
  }
  return steps.length > 0;
}

/** Writes the status that follows, with our own condition in it. */
async function conclude(
  deps: SyncDeps,
  parent: KubernetesObject,
  answered: Status | undefined,
  failure: ApplyError | TryAgain | undefined,
  { memory, failures, signal }: SyncOptions,
): Promise<SyncResult> {
  const before = parent['status'] as Status | undefined;
  // An answer that may not be carried out may not be shown either.
  const usable = failure instanceof ApplyError && failure.reason === 'WebhookUnavailable' ? undefined : answered;
  const synced = verdict(failure, failures);
  const after = nextStatus(parent as unknown as UserSwarm, usable, synced, deps.clock.now());
  const { parents } = deps.caches;
  const done = await writeStatus({ ...deps, parents }, parent, after, memory.status, signal);
  if (done === undefined) return { outcome: 'again', requeue: true };
  memory.status = done.sent;
  if (done.written) deps.onStatus(parent, before, after);
  const requeue = done.written && syncedChanged(before, after);
  const later = done.waitMs === undefined ? {} : { resyncAfterS: done.waitMs / 1_000 };
  if (failure === undefined) return { outcome: 'synced', requeue, ...later };
  return failure instanceof TryAgain
    ? { outcome: 'again', error: failure, ...later }
    : { outcome: 'failed', reason: failure.reason, requeue, error: failure, ...later };
}

function verdict(failure: ApplyError | TryAgain | undefined, failures: number): Synced | undefined {
  if (failure === undefined) return SYNCED;
  if (failure instanceof TryAgain) return undefined;
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
