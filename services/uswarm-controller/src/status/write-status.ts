import type { KubernetesObject } from '@uswarm/contract/userswarm';
import { isConflict, type KubeClient, type Resource, type Store } from '@uswarm/kube-client';
import { canonical } from '../canonical.js';
import type { Status } from './merge.js';

/** What was sent last and what the server made of it: a schema that drops a field must not cause a write a sync. */
export interface SentStatus {
  sent: string;
  stored: string;
}

/**
 * Writes the status if it is another one. @returns what to remember, or undefined if somebody wrote
 * the UserSwarm meanwhile: the newest one is then in the store, and the sync is to be done again.
 */
export async function writeStatus(
  {
    client,
    resource,
    parents,
  }: {
    client: Pick<KubeClient, 'get' | 'replace'>;
    resource: Resource;
    parents: Pick<Store, 'written'>;
  },
  parent: KubernetesObject,
  status: Status,
  last: SentStatus | undefined,
  signal: AbortSignal,
): Promise<{ sent: SentStatus | undefined; written: boolean } | undefined> {
  const sent = canonical(status);
  const stored = canonical(parent['status'] ?? {});
  if (sent === stored || (last?.sent === sent && last.stored === stored)) return { sent: last, written: false };
  const { apiVersion, kind, metadata } = parent;
  try {
    const { name, uid, resourceVersion } = metadata;
    const body = { apiVersion, kind, metadata: { name, uid, resourceVersion }, status } as KubernetesObject;
    const answer = await client.replace(resource, body, 'status', signal);
    parents.written(answer);
    return { sent: { sent, stored: canonical(answer['status'] ?? {}) }, written: true };
  } catch (error) {
    if (!isConflict(error)) throw error;
    parents.written(await client.get(resource, metadata, signal));
    return undefined;
  }
}
