import { CHILD_GROUPS, type ChildGroup } from '@uswarm/contract/userswarm';
import { keyOf, type KubernetesObject, type Store } from '@uswarm/kube-client';
import { CHILD_RESOURCES } from '../resources.js';
import { groupOf } from '../hook/validate-response.js';
import type { Observed } from '../sync/request.js';
import type { ChildTarget, ChildWriter, Propagation } from './child-writer.js';
import { type Contest, nextRound, pauseOf } from './contest.js';
import { type AppliedView, changedByOthers, needsWrite, viewAfter } from './drift.js';
import { ApplyError, classify, type RequeueError } from './failure.js';

export type ChildVerb = 'create' | 'update' | 'delete';

export interface ChildStep {
  verb: ChildVerb;
  group: ChildGroup;
  object: KubernetesObject;
  observed?: KubernetesObject;
  /** For an update: the fields that other clients changed since our last write with the same content. */
  contested?: string;
  /** Number of consecutive corrections to these fields, including this one. */
  rounds?: number;
  /** The field manager that changed them, if known. */
  rewrittenBy?: string | undefined;
}

/** Last applied content by group and child key, for one UserSwarm. */
export type AppliedViews = Map<string, AppliedView>;

const DEPLOYMENT: ChildGroup = 'Deployment.apps/v1';
const SERVICE_ACCOUNT: ChildGroup = 'ServiceAccount.v1';

const viewKey = (group: string, object: KubernetesObject): string => `${group} ${keyOf(object)}`;

/**
 * Computes the writes that turn the observed children into the desired ones. A terminating child is left alone; if it
 * is still desired, it is created again after its deletion.
 */
export function planChildren(
  desired: readonly KubernetesObject[],
  observed: Observed,
  applied: AppliedViews,
): ChildStep[] {
  const desiredKeys = new Set(desired.map((child) => viewKey(groupOf(child), child)));
  const writes = desired.flatMap((object): ChildStep[] => {
    const group = groupOf(object) as ChildGroup;
    const known = observed[group][keyOf(object)];
    if (known === undefined) return [{ verb: 'create', group, object }];
    if (known.metadata.deletionTimestamp !== undefined) return [];
    const last = applied.get(viewKey(group, object));
    if (!needsWrite(object, known, last)) return [];
    const contested = changedByOthers(object, known, last);
    return [{ verb: 'update', group, object, observed: known, ...(contested === undefined ? {} : { contested }) }];
  });
  const deletions = CHILD_GROUPS.flatMap((group) =>
    Object.values(observed[group])
      .filter((child) => !desiredKeys.has(viewKey(group, child)) && child.metadata.deletionTimestamp === undefined)
      .map((object): ChildStep => ({ verb: 'delete', group, object })),
  );
  return [...deletions, ...writes];
}

/** True for a Deployment with a pod. */
export const runsPod = (child: Pick<KubernetesObject, 'kind'> & { spec?: unknown }): boolean =>
  child.kind === 'Deployment' && (child.spec as { replicas?: number } | null | undefined)?.replicas !== 0;

/**
 * Whether the steps only create children, one of which runs a pod. Until the state of that pod changes, the webhook would
 * answer the same again.
 */
export const isFirstStart = (steps: readonly ChildStep[]): boolean =>
  steps.every(({ verb }) => verb === 'create') && steps.some(({ object }) => runsPod(object));

/** Conflicts with other clients over children of one UserSwarm, by group and key. */
export type Contests = Map<string, Contest>;

/**
 * Filters out updates to contested fields that are in back-off. @returns the due steps and the shortest wait in
 * milliseconds
 */
export function withoutContested(
  steps: readonly ChildStep[],
  contests: Contests,
  now: number,
): { due: ChildStep[]; waitMs: number | undefined } {
  const waits = steps.map(({ group, object, contested }) =>
    contested === undefined ? 0 : pauseOf(contests.get(viewKey(group, object)), contested, now),
  );
  const waiting = waits.filter((ms) => ms > 0);
  return {
    due: steps.filter((_step, at) => waits[at] === 0),
    waitMs: waiting.length === 0 ? undefined : Math.min(...waiting),
  };
}

/** Records that a step was applied. @returns the step with its number of rounds */
export function countRound(step: ChildStep, contests: Contests, now: number): ChildStep {
  if (step.contested === undefined) return step;
  const key = viewKey(step.group, step.object);
  const next = nextRound(contests.get(key), step.contested, now);
  contests.set(key, next);
  return { ...step, rounds: next.rounds };
}

export interface ApplyDeps {
  writer: ChildWriter;
  stores: Readonly<Record<ChildGroup, Store>>;
  /** With `Foreground`, a Deployment exists until its pods are deleted. */
  deploymentPropagation: Propagation;
  onWritten: (step: ChildStep) => void;
}

/** Applies all steps, then throws the first failure. @throws ApplyError, RequeueError */
export async function applyChildren(
  { writer, stores, deploymentPropagation, onWritten }: ApplyDeps,
  steps: readonly ChildStep[],
  applied: AppliedViews,
  signal: AbortSignal,
): Promise<void> {
  const failures: (ApplyError | RequeueError)[] = [];
  /** @returns whether the write succeeded */
  const run = async (step: ChildStep): Promise<boolean> => {
    try {
      const target = { resource: CHILD_RESOURCES[step.group], store: stores[step.group] };
      const propagation = step.group === DEPLOYMENT ? deploymentPropagation : 'Background';
      onWritten(await carryOut(writer, { ...target, propagation }, step, applied, signal));
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const { metadata, kind } = step.object;
      failures.push(classify(error, `${kind} ${metadata.name}`, metadata.namespace ?? ''));
      return false;
    }
  };
  // A pod cannot be created before its ServiceAccount exists. All other writes are independent of each other. A Service
  // takes the API server the longest, because it also allocates an address.
  const isLate = ({ verb, group }: ChildStep): boolean => verb !== 'delete' && group === DEPLOYMENT;
  const {
    accounts = [],
    late = [],
    others = [],
  } = Object.groupBy(steps, (step) => (step.group === SERVICE_ACCOUNT ? 'accounts' : isLate(step) ? 'late' : 'others'));
  const early = Promise.all(accounts.map(run));
  const independent = Promise.all(others.map(run));
  if (!(await early).includes(false)) await Promise.all(late.map(run));
  await independent;
  const failure = failures.find((error) => error instanceof ApplyError) ?? failures[0];
  if (failure !== undefined) throw failure;
}

/** @returns the step, with the field manager that changed the child */
async function carryOut(
  writer: ChildWriter,
  target: ChildTarget & { propagation: Propagation },
  step: ChildStep,
  applied: AppliedViews,
  signal: AbortSignal,
): Promise<ChildStep> {
  const { verb, group, object, observed } = step;
  const key = viewKey(group, object);
  if (verb === 'delete') {
    applied.delete(key);
    await writer.remove(target, object, target.propagation, signal);
    return step;
  }
  if (verb === 'create') {
    applied.set(key, viewAfter(object, await writer.create(target, object, signal)));
    return step;
  }
  const { stored, rewrittenBy } = await writer.update(target, object, observed?.metadata.uid ?? '', signal);
  applied.set(key, viewAfter(object, stored));
  return { ...step, rewrittenBy };
}
