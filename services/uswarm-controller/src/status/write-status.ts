import type { KubernetesObject } from '@uswarm/contract/userswarm';
import { isConflict, type KubeClient, type Resource, type Store } from '@uswarm/kube-client';
import { type Backoff, backoffDelay } from '@uswarm/service-kit';
import { canonical } from '../canonical.js';
import type { Status } from './merge.js';

/** What was sent last and what the server made of it: a schema that drops a field must not cause a write a sync. */
export interface SentStatus {
  sent: string;
  stored: string;
  /** When, in milliseconds that pass. */
  at: number;
  /** How often in a row we wrote over what somebody else had made of it. */
  overwrites: number;
}

/** Between two such writes: who fights with another writer must not do so at the speed of the API server. */
const CONTESTED: Backoff = { initialMs: 200, maxMs: 10_000 };
/** Milliseconds that a write has to last for the next one to count as the first again. */
const SETTLED_MS = 2 * CONTESTED.maxMs;

/**
 * Writes the status if it is another one. @returns what to remember, or undefined if somebody wrote
 * the UserSwarm meanwhile: the newest one is then in the store, and the sync is to be done again.
 * With `waitMs` it is to be done again after that time, and nothing was written.
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
    parents: Pick<Store, 'written'>;
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
    // All of its metadata: whose label or annotation is missing here loses it, as the API server sees it, though it stays.
    const { managedFields: _managedFields, ...same } = metadata;
    const body = { apiVersion, kind, metadata: same, status } as KubernetesObject;
    const answer = await client.replace(resource, body, 'status', signal);
    parents.written(answer);
    const kept = canonical(answer['status'] ?? {});
    return { sent: { sent, stored: kept, at, overwrites: overwrites + (contested ? 1 : 0) }, written: true };
  } catch (error) {
    if (!isConflict(error)) throw error;
    parents.written(await client.get(resource, metadata, signal));
    return undefined;
  }
}
