import { childName, runtimeSelector, USERSWARMS } from '@uswarm/contract/userswarm';
import {
  createCredentials,
  createKubeClient,
  type KubeClient,
  type KubernetesObject,
  loadKubeConfig,
  type Resource,
} from '@uswarm/kube-client';
import { eventually } from '@uswarm/testkit/eventually';
import { kubeTools } from '@uswarm/testkit';
import { TEST_NODE } from '@uswarm/testkit/kube-api';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const NAMESPACE = 'userswarms';
const CHART = resolve(import.meta.dirname, '../../../charts/uswarm');
const resource = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
});
const NAMESPACES = resource('', 'v1', 'namespaces', 'Namespace');
export const PODS = resource('', 'v1', 'pods', 'Pod');
const EVENTS = resource('', 'v1', 'events', 'Event');
const DEPLOYMENTS = resource('apps', 'v1', 'deployments', 'Deployment');
const REPLICA_SETS = resource('apps', 'v1', 'replicasets', 'ReplicaSet');
const LEASES = resource('coordination.k8s.io', 'v1', 'leases', 'Lease');
const RBAC = ['rbac.authorization.k8s.io', 'v1'] as const;
const CLUSTER_BINDINGS = resource(...RBAC, 'clusterrolebindings', 'ClusterRoleBinding');
const BINDINGS = resource(...RBAC, 'rolebindings', 'RoleBinding');

/** A container's status, as a kubelet writes it. */
export interface Container {
  ready?: boolean;
  restartCount: number;
  state: object;
  lastState?: object;
}

export const CRASHED: Container = {
  restartCount: 4,
  state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s restarting failed container' } },
  lastState: { terminated: { exitCode: 1, reason: 'Error', finishedAt: new Date().toISOString() } },
};
export const PULLING: Container = {
  restartCount: 0,
  state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "r.test/runtime:2"' } },
};

interface RuntimeState {
  /** Reason and message of `Ready: False`. Default: ready */
  ready?: readonly [reason: string, message: string];
  /** The revision for which the runtime waits. */
  pendingRevision?: string;
  /** Without one and without `unschedulable`, no pod exists. */
  container?: Container;
  /** The scheduler's message. */
  unschedulable?: string;
  events?: { kind: 'Pod' | 'ReplicaSet'; reason: string; message: string; count?: number }[];
}

export interface BrokenRuntimes {
  client: KubeClient;
  /** Writes what controller, scheduler and kubelet write about a runtime in this state. */
  create(state: RuntimeState): Promise<{ name: string; pod: string }>;
  /** Binds the group `support` to the roles that docs/operations.md lists. */
  bindDocumentedRoles(): Promise<void>;
  close(): Promise<void>;
}

/** @param crd manifest of the UserSwarm CRD */
export async function brokenRuntimes(kubeconfig: string, crd: string): Promise<BrokenRuntimes> {
  const credentials = await createCredentials(loadKubeConfig({ KUBECONFIG: kubeconfig }));
  const client = createKubeClient({ credentials, fieldManager: 'test' });
  const file = join(dirname(kubeconfig), 'crd.yaml');
  await writeFile(file, crd);
  const { kubectl } = await kubeTools();
  await run(kubectl, ['--kubeconfig', kubeconfig, 'apply', '--server-side', '-f', file]);
  for (const name of [NAMESPACE, 'backend', 'default']) {
    await client.apply(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  await createController(client);
  await eventually(
    () =>
      client.list(USERSWARMS, {}).then(
        () => true,
        () => undefined,
      ),
    {
      description: 'UserSwarms being served',
    },
  );
  let count = 0;
  return {
    client,
    create: (state) => createRuntime(client, `workspace-${(count += 1)}`, state),
    bindDocumentedRoles: () => bindRoles(client, kubeconfig),
    close: () => credentials.close(),
  };
}

async function createController(client: KubeClient): Promise<void> {
  const labels = { 'app.kubernetes.io/part-of': 'uswarm', 'app.kubernetes.io/component': 'controller' };
  const metadata = { name: 'uswarm-controller', namespace: 'backend' };
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: 'controller', image: 'r.test/controller:2' }] },
  };
  const spec = { selector: { matchLabels: labels }, template };
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { ...metadata, labels }, spec };
  await client.create(DEPLOYMENTS, deployment as KubernetesObject);
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: { holderIdentity: 'pod-1' } };
  await client.create(LEASES, lease as KubernetesObject);
}

async function createRuntime(client: KubeClient, name: string, state: RuntimeState) {
  const child = childName(name);
  const names = { Deployment: child, ReplicaSet: `${child}-1`, Pod: `${child}-1-x` };
  await createSwarm(client, name, state);
  const labels = runtimeSelector(name);
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: 'agent-runtime', image: 'r.test/runtime:2' }] },
  };
  const metadata = { name: names.Deployment, namespace: NAMESPACE, labels };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  await client.create(DEPLOYMENTS, { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec } as KubernetesObject);
  await client.create(REPLICA_SETS, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { ...metadata, name: names.ReplicaSet },
    spec,
  } as KubernetesObject);
  if (state.container !== undefined || state.unschedulable !== undefined) {
    await createPod(client, { ...metadata, name: names.Pod }, template.spec, state);
  }
  for (const { kind, ...event } of state.events ?? []) await createEvent(client, { kind, name: names[kind] }, event);
  return { name, pod: names.Pod };
}

const WAITS = {
  type: 'UpToDate',
  status: 'False',
  reason: 'RolloutPending',
  message: 'The pod waits for a revision.',
  lastTransitionTime: new Date().toISOString(),
  observedGeneration: 1,
};

async function createSwarm(client: KubeClient, name: string, { ready, pendingRevision }: RuntimeState): Promise<void> {
  const object = await client.create(USERSWARMS, {
    apiVersion: 'uswarm.dev/v1alpha1',
    kind: 'UserSwarm',
    metadata: { name },
    spec: { userId: 'ada' },
  } as KubernetesObject);
  const [reason, message] = ready ?? ['Available', 'The runtime answers.'];
  const condition = {
    type: 'Ready',
    status: ready === undefined ? 'True' : 'False',
    reason,
    message,
    lastTransitionTime: new Date().toISOString(),
    observedGeneration: 1,
  };
  const status = {
    observedGeneration: 1,
    phase: ready === undefined ? 'Ready' : 'Progressing',
    conditions: [condition, ...(pendingRevision === undefined ? [] : [WAITS])],
    ...(pendingRevision === undefined ? {} : { pendingRevision }),
  };
  await client.replace(USERSWARMS, { ...object, status } as KubernetesObject, 'status');
}

async function createPod(
  client: KubeClient,
  metadata: KubernetesObject['metadata'],
  spec: object,
  { container, unschedulable }: RuntimeState,
): Promise<void> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { ...spec, ...(unschedulable === undefined ? { nodeName: TEST_NODE } : {}) },
  };
  const created = await client.create(PODS, pod as KubernetesObject);
  const scheduled =
    unschedulable === undefined
      ? { type: 'PodScheduled', status: 'True' }
      : { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: unschedulable };
  const image = { name: 'agent-runtime', image: 'r.test/runtime:2', imageID: '', ready: false };
  const containerStatuses = container === undefined ? [] : [{ ...image, ...container }];
  const status = { phase: 'Pending', conditions: [scheduled], containerStatuses };
  await client.replace(PODS, { ...created, status } as KubernetesObject, 'status');
}

async function createEvent(
  client: KubeClient,
  involved: { kind: string; name: string },
  { count = 1, ...event }: { reason: string; message: string; count?: number },
): Promise<void> {
  const time = new Date().toISOString().replace(/\.\d+/, '');
  await client.create(EVENTS, {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${involved.name}.${event.reason.toLowerCase()}`, namespace: NAMESPACE },
    involvedObject: { ...involved, namespace: NAMESPACE },
    type: 'Warning',
    count,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component: 'test' },
    ...event,
  } as KubernetesObject);
}

async function bindRoles(client: KubeClient, kubeconfig: string): Promise<void> {
  await applyChartRoles(kubeconfig);
  const subjects = [{ kind: 'Group', apiGroup: RBAC[0], name: 'support' }];
  const metadata = { name: 'uswarm-support' };
  const roleRef = (name: string) => ({ kind: 'ClusterRole', apiGroup: RBAC[0], name });
  const bind = (kind: string, object: Pick<KubernetesObject, 'metadata'> & { roleRef: object }): KubernetesObject => ({
    apiVersion: RBAC.join('/'),
    kind,
    subjects,
    ...object,
  });
  await client.create(CLUSTER_BINDINGS, bind('ClusterRoleBinding', { metadata, roleRef: roleRef('uswarm-view') }));
  for (const namespace of [NAMESPACE, 'backend', 'default']) {
    // kube-controller-manager would fill the stock role `view` with this one, and does not run here.
    const roleBinding = { metadata: { ...metadata, namespace }, roleRef: roleRef('system:aggregate-to-view') };
    await client.create(BINDINGS, bind('RoleBinding', roleBinding));
  }
}

async function applyChartRoles(kubeconfig: string): Promise<void> {
  const { helm, kubectl } = await kubeTools();
  const values = join(CHART, 'ci', 'everything-values.yaml');
  const template = ['template', 'uswarm', CHART, '-n', 'backend', '-f', values, '-s', 'templates/user-roles.yaml'];
  const { stdout } = await run(helm, template);
  const file = join(dirname(kubeconfig), 'roles.yaml');
  await writeFile(file, stdout);
  await run(kubectl, ['--kubeconfig', kubeconfig, 'apply', '-f', file]);
}
