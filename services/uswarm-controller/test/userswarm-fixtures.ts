import type { KubernetesObject } from '@uswarm/kube-client';
import { FINALIZER } from '../src/sync/finalizer.js';

export const userSwarm = (metadata: object = {}, fields: object = {}): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: {
    name: 'workspace-a',
    uid: 'u1',
    generation: 1,
    resourceVersion: '5',
    finalizers: [FINALIZER],
    ...metadata,
  },
  spec: { userId: 'x', placement: { runtimeNamespace: 'ns' } },
  ...fields,
});
export const account = (namespace = 'ns') => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'agent-runtime-workspace-a', namespace },
});
export const deployment = (replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'agent-runtime-workspace-a', namespace: 'ns' },
  spec: { replicas },
});
export const owned = (uid = 'u1'): KubernetesObject => ({
  ...account(),
  metadata: {
    name: 'agent-runtime-workspace-a',
    namespace: 'ns',
    uid: 's1',
    resourceVersion: '3',
    ownerReferences: [{ apiVersion: 'a', kind: 'UserSwarm', name: 'workspace-a', uid, controller: true }],
  },
});
/** A pod in `workspace-a`'s Deployment. */
export const runtimePod = (): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'p',
    namespace: 'ns',
    uid: 'p1',
    labels: { 'app.kubernetes.io/instance': 'workspace-a' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'agent-runtime-workspace-a-7', uid: 'r1' }],
  },
});
export const dying = { deletionTimestamp: '2030-01-01T00:00:00Z' };
