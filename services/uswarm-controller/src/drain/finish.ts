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
  /** Of the controller, which is gone. */
  lease?: ObjectName | undefined;
  timeoutMs: number;
  everyMs?: number;
  say: (line: string) => void;
  elapsed?: () => number;
}

const EVERY_MS = 500;

/**
 * After everything else is gone, the controller too: takes our finalizer off the UserSwarms that are kept, so
 * that they can be deleted without us, and removes one that came at the last moment.
 *
 * @throws DrainError if something of ours is left
 */
export async function finish(deps: FinishDeps, signal: AbortSignal): Promise<void> {
  const { client, lease, timeoutMs, say, everyMs = EVERY_MS, elapsed = () => performance.now() } = deps;
  const deadline = elapsed() + timeoutMs;
  if (lease !== undefined) {
    await deleteLease(client, lease, signal).catch((error: Error) => {
      say(`The Lease of the controller stays until it has run out: ${error.message}`);
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
          const why = isKept(userSwarm) ? 'kept' : `stays until others take off their finalizers: ${others.join(', ')}`;
          say(`${userSwarm.metadata.name}: ${why}`);
        }
        say('No UserSwarm has a finalizer of uswarm any more.');
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
