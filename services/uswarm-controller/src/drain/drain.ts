import { setTimeout as sleep } from 'node:timers/promises';
import { KEEP_LABEL, type KubernetesObject, USERSWARMS } from '@uswarm/contract/userswarm';
import { retry } from '@uswarm/service-kit';
import { type ChildrenByOwner, deleteChildren, findChildren, namesOf } from './children.js';
import { DrainError } from './drain-error.js';
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

/** What has to hold for UserSwarms to be deleted. */
export interface DrainGuard {
  /** @returns milliseconds since the drain began, in an earlier pod perhaps */
  begin(signal: AbortSignal): Promise<number>;
  /** Called before each look. @throws DrainError to end the drain; after another error it goes on */
  check(signal: AbortSignal): Promise<void>;
}

export interface DrainDeps {
  client: DrainClient;
  guard: DrainGuard;
  /** Namespaces to delete children in when the controller is down; none leaves children to the garbage collector. */
  runtimeNamespaces: readonly string[];
  /** Milliseconds without progress until the drain does the controller's work; 0 if there is no controller. */
  graceMs: number;
  /** Milliseconds, from the beginning, until finalizers are taken off whatever is left. */
  timeoutMs: number;
  /** With `Foreground`, the garbage collector keeps a UserSwarm until its children are gone. */
  propagation?: 'Background' | 'Foreground';
  /** Milliseconds between two looks, and for which nothing may come back before it is over. */
  everyMs?: number;
  settleMs?: number;
  /** One line for whoever reads the log. */
  say: (line: string) => void;
  /** Milliseconds that pass, whatever is done to the clock. */
  elapsed?: () => number;
}

const EVERY_MS = 1_000;
/** An orchestrator that asked for the flag just before it was raised may still be about to write. */
const SETTLE_MS = 3_000;
/** A drain that was killed and begins again late has at least so much time, in ms. */
const LEAST_MS = 30_000;
const RETRY = { initialMs: 500, maxMs: 5_000, deadlineMs: LEAST_MS };

/** What a look at the cluster found. */
interface Look {
  going: KubernetesObject[];
  kept: KubernetesObject[];
}

/**
 * Deletes every UserSwarm that nobody wants kept, and waits until they are gone. Each look begins with what
 * is there, so one that was killed goes on where it was. It ends when the guard refuses.
 *
 * @throws DrainError if the guard refuses, or with UserSwarms left that could not be deleted
 */
export async function drain(deps: DrainDeps, signal: AbortSignal): Promise<void> {
  const {
    client,
    guard,
    graceMs,
    say,
    everyMs = EVERY_MS,
    settleMs = SETTLE_MS,
    elapsed = () => performance.now(),
  } = deps;
  const start = elapsed();
  const deadline = start + (await timeLeft(deps, signal));
  const progress = createProgress(say);
  let emptySince: number | undefined;
  let lastGone = start;
  let failure: string | undefined;
  let helping = graceMs === 0;
  for (;;) {
    const late = elapsed() >= deadline;
    try {
      await guard.check(signal);
      const { going, kept } = await look(client, signal);
      if (progress.seen(going, kept)) lastGone = elapsed();
      emptySince = going.length === 0 ? (emptySince ?? elapsed()) : undefined;
      if (emptySince !== undefined && elapsed() - emptySince >= settleMs) break;
      if (late) return await giveUp(deps, going, signal);
      if (!helping && going.length > 0 && elapsed() - lastGone >= graceMs) {
        helping = true;
        say(
          `Nothing went for ${seconds(graceMs)}: the controller or its webhook is down. Their work is done from here.`,
        );
      }
      try {
        await deleteUserSwarms(deps, going, signal);
      } finally {
        // One whose deletion is refused does not keep the others.
        if (helping) await helpOut(deps, going, signal);
      }
      failure = undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DrainError) throw error;
      const { message } = error as Error;
      if (message !== failure) say(`It goes on after a failure: ${message}`);
      failure = message;
      if (late) throw new DrainError(`time is up: ${message}`, { cause: error });
    }
    await sleep(everyMs, undefined, { signal });
  }
  const after = `after ${seconds(elapsed() - start)}`;
  if (progress.gone() === 0) say('No UserSwarm was there to be removed.');
  else say(`${counted(progress.gone())} gone, with all that belonged to them, ${after}.`);
}

async function look(client: DrainClient, signal: AbortSignal): Promise<Look> {
  const userSwarms = await listUserSwarms(client, signal);
  return { going: userSwarms.filter((userSwarm) => !isKept(userSwarm)), kept: userSwarms.filter(isKept) };
}

/** Milliseconds. Time that an earlier pod has used counts. */
async function timeLeft({ guard, timeoutMs }: DrainDeps, signal: AbortSignal): Promise<number> {
  const retryable = (error: unknown): boolean => !(error instanceof DrainError);
  const used = await retry(() => guard.begin(signal), { ...RETRY, signal, retryable });
  return Math.max(Math.min(LEAST_MS, timeoutMs), timeoutMs - used);
}

const deleteUserSwarms = (
  { client, propagation = 'Background' }: DrainDeps,
  going: readonly KubernetesObject[],
  signal: AbortSignal,
): Promise<void> =>
  forEach(
    going.filter((userSwarm) => !isTerminating(userSwarm)),
    (userSwarm) => deleteSeen(client, USERSWARMS, userSwarm, propagation, signal),
  );

/** What the controller would do: the children first, then the finalizer. */
async function helpOut(
  { client, runtimeNamespaces }: DrainDeps,
  going: readonly KubernetesObject[],
  signal: AbortSignal,
): Promise<void> {
  const held = going.filter((userSwarm) => isTerminating(userSwarm) && hasOurFinalizer(userSwarm));
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
 * Time is up: what is being deleted loses our finalizers, and Kubernetes goes on with children that are on their way
 * out. What cannot be deleted keeps them, as the release stays too.
 */
async function giveUp(deps: DrainDeps, seen: readonly KubernetesObject[], signal: AbortSignal): Promise<void> {
  const { client, runtimeNamespaces, say } = deps;
  const left = await findChildren(client, runtimeNamespaces, signal).catch((): ChildrenByOwner => new Map());
  say(`Time is up with ${counted(seen.length)} left; those that are being deleted lose our finalizers.`);
  for (const { metadata } of seen) {
    const children = left.get(metadata.uid ?? '') ?? [];
    if (children.length > 0)
      say(`  ${metadata.name} leaves behind, until Kubernetes has deleted it: ${namesOf(children)}`);
  }
  try {
    await deleteUserSwarms(deps, seen, signal);
  } finally {
    const terminating = (await look(client, signal)).going.filter(isTerminating);
    // The one that our own deletion set.
    const also = deps.propagation === 'Foreground' ? [GARBAGE_COLLECTOR_FINALIZER] : [];
    await forEach(terminating, (userSwarm) => releaseUserSwarm(client, userSwarm, signal, also));
  }
  const { going } = await look(client, signal);
  for (const userSwarm of going.filter((each) => isTerminating(each) && foreignFinalizers(each).length > 0)) {
    say(
      `  ${userSwarm.metadata.name} stays until others take off their finalizers: ${foreignFinalizers(userSwarm).join(', ')}`,
    );
  }
  const stuck = going.filter((userSwarm) => !isTerminating(userSwarm) || hasOurFinalizer(userSwarm));
  if (stuck.length > 0) {
    throw new DrainError(`these could not be removed: ${stuck.map(({ metadata }) => metadata.name).join(', ')}`);
  }
}

/** Tells how it goes, without a line for each look. */
function createProgress(say: (line: string) => void) {
  const known = new Set<string>();
  let gone = 0;
  let told: string | undefined;
  return {
    gone: () => gone,
    /** @returns whether any has gone since the last look. */
    seen(going: readonly KubernetesObject[], kept: readonly KubernetesObject[]): boolean {
      for (const { metadata } of going) known.add(metadata.uid ?? metadata.name);
      const before = gone;
      gone = known.size - going.length;
      if (told === undefined && kept.length > 0) {
        say(`Kept, as labelled ${KEEP_LABEL}=true: ${kept.map(({ metadata }) => metadata.name).join(', ')}`);
      }
      const line = `${counted(going.length)} to go.`;
      if (line !== told && going.length > 0) say(line);
      told = line;
      return gone > before;
    },
  };
}

const counted = (count: number): string => (count === 1 ? '1 UserSwarm' : `${count} UserSwarms`);
const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;
