import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject, ManagedFields } from '@uswarm/kube-types';
import type { ApiRequest, ScriptedApi } from '@uswarm/testkit/scripted-api';

export const RUNTIME_NAMESPACE = 'userswarms';
const USER_SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
const IN = `/namespaces/${RUNTIME_NAMESPACE}`;
const DEPLOYMENTS = `/apis/apps/v1${IN}/deployments`;
const PODS = `/api/v1${IN}/pods`;
/** Milliseconds between two start events. */
const PAUSE_MS = 5;
/** UserSwarms created per round. */
const BATCH = 20;

export interface SimulatedCluster {
  create(count: number): Promise<void>;
  deleteAll(): void;
}

/**
 * Simulates the Deployment controller, the scheduler and the kubelet with the events that a start causes in a real
 * cluster: five for a Deployment, four for its pod. Objects have `managedFields` and a creation time like a real API
 * server's, because their size determines what a watch costs.
 */
export function simulateCluster(api: ScriptedApi): SimulatedCluster {
  api.put('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: RUNTIME_NAMESPACE } });
  api.script((request) => {
    if (request.method !== 'POST') return undefined;
    complete(request);
    if (request.path === DEPLOYMENTS) void start(api, request.body['metadata'] as KubernetesObject['metadata']);
    return undefined;
  });
  return {
    async create(count) {
      for (let at = 0; at < count; at += 1) {
        api.put(USER_SWARMS, userSwarm(at));
        if (at % BATCH === BATCH - 1) await sleep(PAUSE_MS);
      }
    },
    deleteAll() {
      for (const name of api.names(USER_SWARMS)) {
        const object = api.get(USER_SWARMS, name);
        if (object === undefined) continue;
        api.put(USER_SWARMS, { ...object, metadata: { ...object.metadata, deletionTimestamp: now() } });
      }
    },
  };
}

const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

const userSwarm = (at: number): KubernetesObject =>
  written('bench', {
    apiVersion: 'uswarm.dev/v1alpha1',
    kind: 'UserSwarm',
    metadata: { name: `workspace-${at}`, creationTimestamp: now() },
    spec: {
      userId: `user-${at}`,
      suspend: false,
      placement: { runtimeNamespace: RUNTIME_NAMESPACE },
      runtime: { port: 42_618 },
    },
  });

/** Sets what the API server sets at a creation. */
function complete({ body }: ApiRequest): void {
  const { metadata } = written('userswarm-controller', body as unknown as KubernetesObject);
  body['metadata'] = { ...metadata, creationTimestamp: now() };
}

/** The object with the ownership of all of its fields by one more manager. */
function written(manager: string, object: KubernetesObject): KubernetesObject {
  const { managedFields = [], ...metadata } = object.metadata;
  const { apiVersion } = object;
  const entry = {
    manager,
    operation: 'Update',
    apiVersion,
    time: now(),
    fieldsType: 'FieldsV1',
    fieldsV1: fieldsOf({ ...object, metadata }) as object,
  };
  const entries: ManagedFields[] = [...managedFields, entry];
  return { ...object, metadata: { ...metadata, managedFields: entries } };
}

function fieldsOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    return Object.fromEntries(value.map((item, at) => [`k:{"name":"${nameOf(item) ?? at}"}`, fieldsOf(item)]));
  }
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [`f:${name}`, fieldsOf(field)]));
}

const nameOf = (item: unknown): string | undefined => (item as { name?: string } | null)?.name;

interface PodTemplate {
  metadata: { labels: Record<string, string> };
  spec: { containers: { name: string; image: string }[] };
}

async function start(api: ScriptedApi, { name }: KubernetesObject['metadata']): Promise<void> {
  const step = async (collection: string, of: string, change: (object: KubernetesObject) => object): Promise<void> => {
    await sleep(PAUSE_MS);
    const object = api.get(collection, of);
    if (object !== undefined) api.put(collection, { ...object, ...change(object) });
  };
  const setStatus = (status: object) => () => ({ status });
  const deployment = (change: (object: KubernetesObject) => object) => step(DEPLOYMENTS, name, change);
  await deployment((object) => {
    const annotations = { ...object.metadata.annotations, 'deployment.kubernetes.io/revision': '1' };
    const changed = { ...object, metadata: { ...object.metadata, annotations }, status: DEPLOYMENT.progressing };
    return written('kube-controller-manager', changed);
  });
  const made = api.get(DEPLOYMENTS, name);
  if (made === undefined) return;
  const { metadata, spec } = (made['spec'] as { template: PodTemplate }).template;
  const pod = `${name}-7bc6fcb5c6-x`;
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${name}-7bc6fcb5c6`, uid: `replicas-of-${name}` };
  api.put(
    PODS,
    written('kube-controller-manager', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: pod,
        namespace: RUNTIME_NAMESPACE,
        labels: metadata.labels,
        creationTimestamp: now(),
        ownerReferences: [owner],
      },
      spec,
      status: { phase: 'Pending', qosClass: 'Burstable' },
    }),
  );
  await deployment(setStatus({ ...DEPLOYMENT.progressing, replicas: 1, unavailableReplicas: 1, updatedReplicas: 1 }));
  const scheduled = [{ type: 'PodScheduled', status: 'True', lastTransitionTime: now() }];
  await step(PODS, pod, () => ({
    spec: { ...spec, nodeName: 'node-1' },
    status: { phase: 'Pending', conditions: scheduled },
  }));
  await step(PODS, pod, (object) => written('kubelet', { ...object, status: running(spec, false) }));
  await step(PODS, pod, setStatus(running(spec, true)));
  await deployment(setStatus({ ...DEPLOYMENT.available, conditions: DEPLOYMENT.progressing.conditions }));
  await deployment(setStatus(DEPLOYMENT.available));
}

const condition = (type: string, status: string, reason?: string) => ({
  type,
  status,
  reason,
  lastTransitionTime: now(),
});

function running({ containers }: PodTemplate['spec'], ready: boolean): object {
  const status = ready ? 'True' : 'False';
  return {
    phase: ready ? 'Running' : 'Pending',
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => condition(type, status)),
    containerStatuses: containers.map(({ name, image }) => ({
      name,
      image,
      ready,
      restartCount: 0,
      state: ready ? { running: { startedAt: now() } } : { waiting: { reason: 'ContainerCreating' } },
    })),
    podIP: '10.244.2.1',
    startTime: now(),
  };
}

const progressing = { observedGeneration: 1, conditions: [condition('Progressing', 'True', 'NewReplicaSetCreated')] };
const DEPLOYMENT = {
  progressing,
  available: {
    observedGeneration: 1,
    replicas: 1,
    updatedReplicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
    conditions: [
      condition('Available', 'True', 'MinimumReplicasAvailable'),
      condition('Progressing', 'True', 'NewReplicaSetAvailable'),
    ],
  },
};
