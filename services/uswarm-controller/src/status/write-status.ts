import {
  isConflict,
  keyOf,
  type KubeClient,
  type KubernetesObject,
  type Resource,
  type Store,
} from '@uswarm/kube-client';
import { type Backoff, backoffDelay } from '@uswarm/service-kit';
import { canonical } from '../canonical.js';
import type { Status } from './merge.js';

/** The last status sent, and as stored: a schema that prunes a field must not cause a write per reconcile. */
export interface SentStatus {
  sent: string;
  stored: string;
  /** Write time in monotonic milliseconds. */
  at: number;
  /** Number of consecutive writes over the changes of another client. */
  overwrites: number;
}

/** Back-off between two such writes, so that a conflict with another writer does not load the API server. */
const CONTESTED: Backoff = { initialMs: 200, maxMs: 10_000 };
/** Milliseconds without a conflict after which the back-off is reset. */
const SETTLED_MS = 2 * CONTESTED.maxMs;

/**
 * Writes the status if it changed. @returns the sent status to remember, or undefined on a conflict: the store then
 * has the newest UserSwarm, and it must be reconciled again. With `waitMs`, nothing was written, and it must be
 * reconciled again after that time.
 */
export async function writeStatus(
  {
    client,
    resource,
    parents,
    elapsed = () => performance.now(),
  }: {
    client: Pick<KubeClient, 'get' | 'replace'>;
    resource: Resource;
    parents: Pick<Store, 'write' | 'written'>;
    elapsed?: () => number;
  },
  parent: KubernetesObject,
  status: Status,
  last: SentStatus | undefined,
  signal: AbortSignal,
): Promise<{ sent: SentStatus | undefined; written: boolean; waitMs?: number } | undefined> {
  const sent = canonical(status);
  const stored = canonical(parent['status'] ?? {});
  if (sent === stored || (last?.sent === sent && last.stored === stored)) return { sent: last, written: false };
  const at = elapsed();
  const recent = last !== undefined && at - last.at < SETTLED_MS ? last : undefined;
  const { overwrites = 0 } = recent ?? {};
  const contested = recent !== undefined && recent.stored !== stored;
  const waitMs = contested ? backoffDelay(CONTESTED, overwrites, () => 1) - (at - recent.at) : 0;
  if (waitMs > 0) return { sent: last, written: false, waitMs };
  const { apiVersion, kind, metadata } = parent;
  try {
    // Sends all metadata: a label or annotation that is missing here would count as removed by this field manager.
    const { managedFields: _managedFields, ...same } = metadata;
    const body = { apiVersion, kind, metadata: same, status } as KubernetesObject;
    const answer = await parents.write(keyOf(parent), () => client.replace(resource, body, 'status', signal));
    const kept = canonical(answer['status'] ?? {});
    return { sent: { sent, stored: kept, at, overwrites: overwrites + (contested ? 1 : 0) }, written: true };
  } catch (error) {
    if (!isConflict(error)) throw error;
    parents.written(await client.get(resource, metadata, signal));
    return undefined;
  }
}
