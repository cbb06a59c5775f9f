import {
  isConflict,
  isDenied,
  isNotFound,
  type KubeClient,
  type KubernetesObject,
  type Store,
} from '@uswarm/kube-client';
import { PODS, REPLICA_SETS } from '../resources.js';
import { replicaSetOf } from '../caches/runtime-pods.js';
import { classify } from './failure.js';

/** Grace period in seconds for the pod of a deleted UserSwarm. Its replies are no longer needed. */
const GRACE_S = 5;

export interface RemovePodsDeps {
  client: Pick<KubeClient, 'delete'>;
  pods: Pick<Store, 'written' | 'deleted'>;
}

/**
 * Deletes a UserSwarm's pods after its Deployment has been deleted, and after the ReplicaSets that would replace them.
 * Otherwise the garbage collector deletes them, which is limited to few requests per second for the whole cluster.
 *
 * @throws ApplyError, RequeueError
 */
export async function removePods(
  { client, pods: store }: RemovePodsDeps,
  parentName: string,
  pods: readonly KubernetesObject[],
  signal: AbortSignal,
): Promise<void> {
  const running = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const replicaSets = new Map<string, KubernetesObject['metadata']>();
  for (const pod of running) {
    const { name, uid } = replicaSetOf(pod, parentName) ?? {};
    const { namespace = '' } = pod.metadata;
    if (name !== undefined && uid !== undefined) replicaSets.set(uid, { name, namespace, uid });
  }
  try {
    for (const replicaSet of replicaSets.values()) {
      await tolerant(
        client.delete(REPLICA_SETS, replicaSet, { uid: replicaSet.uid ?? '', propagation: 'Background' }, signal),
      );
    }
    for (const pod of running) {
      const options = { uid: pod.metadata.uid ?? '', propagation: 'Background', graceS: GRACE_S } as const;
      const rest = await tolerant(client.delete(PODS, pod.metadata, options, signal));
      if (rest !== undefined) store.written(rest);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw classify(error, `the pods of ${parentName}`, pods[0]?.metadata.namespace ?? '');
  }
}

/** A missing object is a success. Objects that we may not delete are left to the garbage collector. */
async function tolerant(deletion: Promise<KubernetesObject | undefined>): Promise<KubernetesObject | undefined> {
  try {
    return await deletion;
  } catch (error) {
    if (isNotFound(error) || isConflict(error) || isDenied(error)) return undefined;
    throw error;
  }
}
