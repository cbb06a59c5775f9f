import { describe, expect, it } from '@jest/globals';
import { createStore, KubeError, type KubernetesObject } from '@uswarm/kube-client';
import { ApplyError } from './failure.js';
import { removePods } from './remove-pods.js';

const never = new AbortController().signal;
const runtimePod = (metadata: object = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'agent-runtime-workspace-a-77-x',
    namespace: 'ns',
    uid: 'p1',
    resourceVersion: '4',
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'agent-runtime-workspace-a-77', uid: 'r1', controller: true },
    ],
    ...metadata,
  },
});

async function remove(pods: KubernetesObject[], refusal?: KubeError) {
  const deleted: object[] = [];
  const store = createStore();
  const client = {
    delete: async ({ kind }: { kind: string }, { name }: { name: string }, options: object) => {
      deleted.push({ kind, name, ...options });
      if (refusal !== undefined) throw refusal;
      return undefined;
    },
  };
  const error = await removePods({ client, pods: store }, 'workspace-a', pods, never).catch((cause: unknown) => cause);
  return { deleted, error };
}

describe('the removal of pods', () => {
  it('deletes the ReplicaSet before the pods that it would replace, once, and gives pods a short grace period', async () => {
    const second = runtimePod({ name: 'agent-runtime-workspace-a-77-y', uid: 'p2' });
    const { deleted } = await remove([runtimePod(), second]);
    expect(deleted).toEqual([
      { kind: 'ReplicaSet', name: 'agent-runtime-workspace-a-77', uid: 'r1', propagation: 'Background' },
      { kind: 'Pod', name: 'agent-runtime-workspace-a-77-x', uid: 'p1', propagation: 'Background', graceS: 5 },
      { kind: 'Pod', name: 'agent-runtime-workspace-a-77-y', uid: 'p2', propagation: 'Background', graceS: 5 },
    ]);
  });

  it('does not delete terminating pods again', async () => {
    const { deleted } = await remove([runtimePod({ deletionTimestamp: '2030-01-01T00:00:00Z' })]);
    expect(deleted).toEqual([]);
  });

  it.each([
    [403, 'Forbidden'],
    [404, 'NotFound'],
    [409, 'Conflict'],
  ])('leaves the rest to the garbage collector when the API server returns %i %s', async (status, reason) => {
    const { deleted, error } = await remove([runtimePod()], new KubeError(status, { reason }));
    expect({ attempts: deleted.length, error }).toEqual({ attempts: 2, error: undefined });
  });

  it('fails when the API server rejects the deletion for another reason', async () => {
    const { error } = await remove([runtimePod()], new KubeError(422, { reason: 'Invalid', message: 'no' }));
    expect(error).toBeInstanceOf(ApplyError);
  });
});
