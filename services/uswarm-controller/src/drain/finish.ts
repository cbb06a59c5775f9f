import { USERSWARMS } from '@uswarm/contract/userswarm';
import type { KubernetesObject, ObjectName } from '@uswarm/kube-client';
import { deleteLease } from './delete-lease.js';
import { DrainError } from './drain-error.js';
import { runPasses } from './passes.js';
import {
  deleteSeen,
  type DrainClient,
  foreignFinalizers,
  forEach,
  hasOurFinalizer,
  isKept,
  isTerminating,
  listUserSwarms,
  releaseUserSwarm,
} from './userswarms.js';

export interface FinishDeps {
  client: DrainClient;
  /** The removed controller's Lease. */
  lease?: ObjectName | undefined;
  timeoutMs: number;
  everyMs?: number;
  print: (line: string) => void;
  elapsed?: () => number;
}

const EVERY_MS = 500;

/**
 * Runs after the release, including the controller, was removed. Removes our finalizer from the kept UserSwarms, so that
 * they can be deleted later, and deletes UserSwarms that were created at the last moment.
 *
 * @throws DrainError if a UserSwarm or finalizer of uswarm remains
 */
export async function finish(deps: FinishDeps, signal: AbortSignal): Promise<void> {
  const { client, lease, timeoutMs, print, everyMs = EVERY_MS, elapsed = () => performance.now() } = deps;
  const deadline = elapsed() + timeoutMs;
  if (lease !== undefined) {
    await deleteLease(client, lease, signal).catch((error: Error) => {
      print(`The Lease of the controller was not deleted and will expire: ${error.message}`);
    });
  }
  const failIfLate = (left: string): void => {
    if (elapsed() >= deadline) throw new DrainError(`not finished: ${left}`);
  };
  const pass = async (): Promise<boolean> => {
    const userSwarms = await listUserSwarms(client, signal);
    const late = userSwarms.filter((userSwarm) => !isKept(userSwarm) && !isTerminating(userSwarm));
    const held = userSwarms.filter(hasOurFinalizer);
    if (late.length === 0 && held.length === 0) {
      for (const userSwarm of userSwarms) print(`${userSwarm.metadata.name}: ${reasonToStay(userSwarm)}`);
      print('No UserSwarm has a uswarm finalizer.');
      return true;
    }
    try {
      await forEach(late, (userSwarm) => deleteSeen(client, USERSWARMS, userSwarm, 'Background', signal));
    } finally {
      await forEach(held, (userSwarm) => releaseUserSwarm(client, userSwarm, signal));
    }
    failIfLate([...late, ...held].map(({ metadata }) => metadata.name).join(', '));
    return false;
  };
  await runPasses({ pass, onFailure: ({ message }) => failIfLate(message), everyMs }, signal);
}

const reasonToStay = (userSwarm: KubernetesObject): string =>
  isKept(userSwarm)
    ? 'kept'
    : `blocked by the finalizers of other controllers: ${foreignFinalizers(userSwarm).join(', ')}`;
