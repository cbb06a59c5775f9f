import { setTimeout as sleep } from 'node:timers/promises';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import type { ObjectName } from '@uswarm/kube-client';
import { deleteLease } from './delete-lease.js';
import { DrainError } from './drain-error.js';
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
  /** The Lease of the removed controller. */
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
  for (;;) {
    let left: string;
    try {
      const userSwarms = await listUserSwarms(client, signal);
      const late = userSwarms.filter((userSwarm) => !isKept(userSwarm) && !isTerminating(userSwarm));
      const held = userSwarms.filter(hasOurFinalizer);
      if (late.length === 0 && held.length === 0) {
        for (const userSwarm of userSwarms) {
          const others = foreignFinalizers(userSwarm);
          const why = isKept(userSwarm)
            ? 'kept'
            : `blocked by the finalizers of other controllers: ${others.join(', ')}`;
          print(`${userSwarm.metadata.name}: ${why}`);
        }
        print('No UserSwarm has a uswarm finalizer.');
        return;
      }
      left = [...late, ...held].map(({ metadata }) => metadata.name).join(', ');
      try {
        await forEach(late, (userSwarm) => deleteSeen(client, USERSWARMS, userSwarm, 'Background', signal));
      } finally {
        await forEach(held, (userSwarm) => releaseUserSwarm(client, userSwarm, signal));
      }
    } catch (error) {
      signal.throwIfAborted();
      left = (error as Error).message;
    }
    if (elapsed() >= deadline) throw new DrainError(`not finished: ${left}`);
    await sleep(everyMs, undefined, { signal });
  }
}
