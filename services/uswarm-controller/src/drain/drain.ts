import { KEEP_LABEL, USERSWARMS } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { retry } from '@uswarm/service-kit';
import { type ChildrenByOwner, deleteChildren, findChildren, namesOf } from './children.js';
import { DrainError } from './drain-error.js';
import { createFailurePrinter, runPasses } from './passes.js';
import {
  deleteSeen,
  type DrainClient,
  foreignFinalizers,
  forEach,
  GARBAGE_COLLECTOR_FINALIZER,
  hasOurFinalizer,
  isKept,
  isTerminating,
  listUserSwarms,
  releaseUserSwarm,
} from './userswarms.js';

/** The precondition for deleting UserSwarms. */
export interface DrainGuard {
  /** @returns milliseconds since the drain began, including the Job's earlier pods */
  begin(signal: AbortSignal): Promise<number>;
  /** Called before each pass. @throws DrainError to end the drain; other errors are retried */
  check(signal: AbortSignal): Promise<void>;
}

export interface DrainDeps {
  client: DrainClient;
  guard: DrainGuard;
  /** Namespaces to delete children in when the controller is down. Empty: children are left to the garbage collector. */
  runtimeNamespaces: readonly string[];
  /** Milliseconds without progress after which the drain finalizes by itself; 0 without a controller. */
  graceMs: number;
  /** Milliseconds from the start after which the remaining UserSwarms lose their finalizers. */
  timeoutMs: number;
  /** With `Foreground`, a UserSwarm exists until the garbage collector has deleted its children. */
  propagation?: 'Background' | 'Foreground';
  /** Milliseconds between two passes, and without any UserSwarm before the drain is complete. */
  everyMs?: number;
  settleMs?: number;
  /** Prints one line to the log. */
  print: (line: string) => void;
  /** Monotonic milliseconds. */
  elapsed?: () => number;
}

const EVERY_MS = 1_000;
/** An orchestrator that read the flag just before it was raised may still write. */
const SETTLE_MS = 3_000;
/** Minimum time in milliseconds for a drain that was killed and restarted late. */
const MIN_DRAIN_MS = 30_000;
const RETRY = { initialMs: 500, maxMs: 5_000, deadlineMs: MIN_DRAIN_MS };

/** UserSwarms in one pass. */
interface Pass {
  terminating: KubernetesObject[];
  kept: KubernetesObject[];
}

/**
 * Deletes all UserSwarms without the keep label and waits until they no longer exist. Each pass lists the cluster again,
 * so a restarted drain continues. It ends when the guard throws.
 *
 * @throws DrainError if the guard throws one, or if UserSwarms could not be deleted
 */
export async function drain(deps: DrainDeps, signal: AbortSignal): Promise<void> {
  const {
    client,
    guard,
    graceMs,
    print,
    everyMs = EVERY_MS,
    settleMs = SETTLE_MS,
    elapsed = () => performance.now(),
  } = deps;
  const start = elapsed();
  const deadline = start + (await timeLeft(deps, signal));
  const progress = createProgress(print);
  const failures = createFailurePrinter(print);
  let emptySince: number | undefined;
  let lastProgress = start;
  let helping = graceMs === 0;
  let late = false;
  let gaveUp = false;
  const pass = async (): Promise<boolean> => {
    late = elapsed() >= deadline;
    await guard.check(signal);
    const { terminating, kept } = await listPass(client, signal);
    if (progress.update(terminating, kept)) lastProgress = elapsed();
    emptySince = terminating.length === 0 ? (emptySince ?? elapsed()) : undefined;
    if (emptySince !== undefined && elapsed() - emptySince >= settleMs) return true;
    if (late) {
      await giveUp(deps, terminating, signal);
      gaveUp = true;
      return true;
    }
    if (!helping && terminating.length > 0 && elapsed() - lastProgress >= graceMs) {
      helping = true;
      print(
        `No progress for ${seconds(graceMs)}: the controller or its webhook is down. The drain deletes the children itself.`,
      );
    }
    try {
      await deleteUserSwarms(deps, terminating, signal);
    } finally {
      // Continues with the others if one deletion fails.
      if (helping) await helpOut(deps, terminating, signal);
    }
    failures.succeeded();
    return false;
  };
  const onFailure = (error: Error): void => {
    failures.failed(error);
    if (late) throw new DrainError(`timeout exceeded: ${error.message}`, { cause: error });
  };
  await runPasses({ pass, onFailure, everyMs }, signal);
  if (gaveUp) return;
  const after = `after ${seconds(elapsed() - start)}`;
  if (progress.deleted() === 0) print('No UserSwarms found.');
  else print(`${counted(progress.deleted())} deleted with all children ${after}.`);
}

async function listPass(client: DrainClient, signal: AbortSignal): Promise<Pass> {
  const userSwarms = await listUserSwarms(client, signal);
  return { terminating: userSwarms.filter((userSwarm) => !isKept(userSwarm)), kept: userSwarms.filter(isKept) };
}

/** Remaining milliseconds, minus the time that the Job's earlier pods used. */
async function timeLeft({ guard, timeoutMs }: DrainDeps, signal: AbortSignal): Promise<number> {
  const retryable = (error: unknown): boolean => !(error instanceof DrainError);
  const used = await retry(() => guard.begin(signal), { ...RETRY, signal, retryable });
  return Math.max(Math.min(MIN_DRAIN_MS, timeoutMs), timeoutMs - used);
}

const deleteUserSwarms = (
  { client, propagation = 'Background' }: DrainDeps,
  terminating: readonly KubernetesObject[],
  signal: AbortSignal,
): Promise<void> =>
  forEach(
    terminating.filter((userSwarm) => !isTerminating(userSwarm)),
    (userSwarm) => deleteSeen(client, USERSWARMS, userSwarm, propagation, signal),
  );

/** Finalizes in place of the controller: deletes the children, then removes the finalizer. */
async function helpOut(
  { client, runtimeNamespaces }: DrainDeps,
  terminating: readonly KubernetesObject[],
  signal: AbortSignal,
): Promise<void> {
  const held = terminating.filter((userSwarm) => isTerminating(userSwarm) && hasOurFinalizer(userSwarm));
  const children: ChildrenByOwner =
    held.length === 0 ? new Map() : await findChildren(client, runtimeNamespaces, signal);
  const childrenOf = (userSwarm: KubernetesObject) => children.get(userSwarm.metadata.uid ?? '') ?? [];
  try {
    await deleteChildren(client, held.flatMap(childrenOf), signal);
  } finally {
    const bare = held.filter((userSwarm) => childrenOf(userSwarm).length === 0);
    await forEach(bare, (userSwarm) => releaseUserSwarm(client, userSwarm, signal));
  }
}

/**
 * Removes our finalizers from terminating UserSwarms after the timeout; Kubernetes deletes their children. UserSwarms that
 * cannot be deleted keep the finalizers, because the release stays installed.
 */
async function giveUp(deps: DrainDeps, seen: readonly KubernetesObject[], signal: AbortSignal): Promise<void> {
  const { client, runtimeNamespaces, print } = deps;
  const left = await findChildren(client, runtimeNamespaces, signal).catch((): ChildrenByOwner => new Map());
  print(`Timeout exceeded with ${counted(seen.length)} remaining; removing the finalizers of terminating UserSwarms.`);
  for (const { metadata } of seen) {
    const children = left.get(metadata.uid ?? '') ?? [];
    if (children.length > 0)
      print(`  ${metadata.name} is removed before its children, which Kubernetes deletes: ${namesOf(children)}`);
  }
  try {
    await deleteUserSwarms(deps, seen, signal);
  } finally {
    const terminating = (await listPass(client, signal)).terminating.filter(isTerminating);
    // The foreground finalizer comes from our own deletion.
    const also = deps.propagation === 'Foreground' ? [GARBAGE_COLLECTOR_FINALIZER] : [];
    await forEach(terminating, (userSwarm) => releaseUserSwarm(client, userSwarm, signal, also));
  }
  const { terminating } = await listPass(client, signal);
  for (const userSwarm of terminating.filter((each) => isTerminating(each) && foreignFinalizers(each).length > 0)) {
    print(
      `  ${userSwarm.metadata.name} is blocked by the finalizers of other controllers: ${foreignFinalizers(userSwarm).join(', ')}`,
    );
  }
  const stuck = terminating.filter((userSwarm) => !isTerminating(userSwarm) || hasOurFinalizer(userSwarm));
  if (stuck.length > 0) {
    throw new DrainError(`failed to delete: ${stuck.map(({ metadata }) => metadata.name).join(', ')}`);
  }
}

/** Prints the progress when it changes. */
function createProgress(print: (line: string) => void) {
  const known = new Set<string>();
  let deleted = 0;
  let printed: string | undefined;
  return {
    deleted: () => deleted,
    /** @returns whether a UserSwarm was deleted since the last pass */
    update(terminating: readonly KubernetesObject[], kept: readonly KubernetesObject[]): boolean {
      for (const { metadata } of terminating) known.add(metadata.uid ?? metadata.name);
      const before = deleted;
      deleted = known.size - terminating.length;
      if (printed === undefined && kept.length > 0) {
        print(`Kept because of the label ${KEEP_LABEL}=true: ${kept.map(({ metadata }) => metadata.name).join(', ')}`);
      }
      const line = `${counted(terminating.length)} remaining.`;
      if (line !== printed && terminating.length > 0) print(line);
      printed = line;
      return deleted > before;
    },
  };
}

const counted = (count: number): string => (count === 1 ? '1 UserSwarm' : `${count} UserSwarms`);
const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;
