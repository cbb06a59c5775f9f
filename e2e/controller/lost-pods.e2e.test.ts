import { randomBytes } from 'node:crypto';
import { HttpMethod } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Condition, UserSwarmStatus } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { eventually } from '@uswarm/testkit/eventually';
import { type ControllerFixture, openFixture } from './fixture.js';

// This file simulates a node's kubelet and then stops its heartbeat. The cluster's node lifecycle controller detects
// that the node is lost.

const LABEL = 'e2e.uswarm.dev/simulated';
const SHOWN_WITHIN_MS = 10_000;
/** Limit for the scheduler and the cluster's controllers. */
const DONE_WITHIN_MS = 120_000;
/** The node lifecycle controller waits 50 s for a heartbeat. */
const LOST_WITHIN_MS = 240_000;
const HEARTBEAT_MS = 5_000;

const id = randomBytes(4).toString('hex');
const node = `simulated-${id}`;
const time = (agoMs = 0): string => `${new Date(Date.now() - agoMs).toISOString().slice(0, 19)}Z`;
/** Containers started this long ago: a change of readiness after their start has a later second. */
const STARTED_AGO_MS = 30_000;

let fixture: ControllerFixture;
let heartbeat: NodeJS.Timeout | undefined;

const mergeStatus = (path: string, status: object): Promise<unknown> =>
  fixture.api.request(HttpMethod.PATCH, `${path}/status`, {
    body: { status },
    contentType: 'application/merge-patch+json',
  });
async function sendHeartbeat(): Promise<void> {
  const amounts = { cpu: '4', memory: '8Gi', pods: '20' };
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'simulated' };
  const conditions = [{ ...ready, lastHeartbeatTime: time(), lastTransitionTime: time() }];
  await mergeStatus(`/api/v1/nodes/${node}`, { conditions, allocatable: amounts, capacity: amounts });
}

beforeAll(async () => {
  fixture = await openFixture(0, {
    nodeSelector: { [LABEL]: id },
    tolerations: [{ key: LABEL, operator: 'Exists', effect: 'NoSchedule' }],
  });
  await fixture.start();
  await fixture.api.request(HttpMethod.POST, '/api/v1/nodes', {
    body: {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: node, labels: { [LABEL]: id } },
      spec: { taints: [{ key: LABEL, value: id, effect: 'NoSchedule' }] },
    },
  });
  await sendHeartbeat();
  // The next heartbeat makes up for a failed one.
  heartbeat = setInterval(() => void sendHeartbeat().catch(() => undefined), HEARTBEAT_MS);
});
afterAll(async () => {
  clearInterval(heartbeat);
  await fixture.api.request(HttpMethod.DELETE, `/api/v1/nodes/${node}`);
  // No kubelet confirms the termination of pods.
  const removePods = async (): Promise<boolean> => {
    const pods = (await fixture.list('Pod')).filter((pod) => (pod['spec'] as { nodeName?: string }).nodeName === node);
    for (const { metadata } of pods) {
      const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}?gracePeriodSeconds=0`;
      await fixture.api.request(HttpMethod.DELETE, path).catch(() => undefined);
    }
    return pods.length === 0;
  };
  for (const { metadata } of await fixture.list('UserSwarm')) {
    await fixture.delete({ kind: 'UserSwarm', name: metadata.name });
  }
  await eventually(removePods, { description: 'no pod is left on the simulated node', timeoutMs: DONE_WITHIN_MS });
  await fixture.close();
});

const pathOf = ({ metadata }: KubernetesObject): string =>
  `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;

/** Creates a UserSwarm and waits until its pod is bound to the played node. */
async function podOf(name: string): Promise<KubernetesObject> {
  await fixture.apply({
    apiVersion: fixture.apiVersion,
    kind: 'UserSwarm',
    metadata: { name },
    spec: { userId: 'user-1', placement: { runtimeNamespace: fixture.namespace } },
  } as KubernetesObject);
  return eventually(
    async () =>
      (await fixture.list('Pod', fixture.namespace)).find(
        (pod) =>
          pod.metadata.labels?.['app.kubernetes.io/instance'] === name &&
          (pod['spec'] as { nodeName?: string }).nodeName === node,
      ),
    { description: `the pod of ${name} is on the simulated node`, timeoutMs: DONE_WITHIN_MS },
  );
}

const shows = (name: string, reason: string, withinMs: number): Promise<Condition> =>
  eventually(
    async () => {
      const { conditions } = ((await fixture.get({ kind: 'UserSwarm', name }))?.['status'] ?? {}) as UserSwarmStatus;
      return conditions?.find((condition) => condition.type === 'Ready' && condition.reason === reason);
    },
    { description: `${name} shows ${reason}`, timeoutMs: withinMs },
  );

const conditions = (ready: 'True' | 'False', sandbox: 'True' | 'False'): object[] =>
  Object.entries({
    PodReadyToStartContainers: sandbox,
    Initialized: 'True',
    Ready: ready,
    ContainersReady: ready,
    PodScheduled: 'True',
  }).map(([type, status]) => ({ type, status, lastTransitionTime: time() }));
const container = (state: object, ready: boolean): object => ({
  name: 'agent-runtime',
  image: 'simulated',
  imageID: 'simulated',
  restartCount: 0,
  ready,
  started: ready,
  state,
});

/** The kubelet's status while the pod has no sandbox. */
const withoutSandbox = () => ({
  phase: 'Pending',
  startTime: time(),
  conditions: conditions('False', 'False'),
  containerStatuses: [container({ waiting: { reason: 'ContainerCreating' } }, false)],
});
async function warn(pod: KubernetesObject, reason: string, message: string): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  await fixture.api.request(HttpMethod.POST, `/api/v1/namespaces/${namespace}/events`, {
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.simulated`, namespace },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace, uid },
      type: 'Warning',
      reason,
      message,
      source: { component: 'kubelet', host: node },
      firstTimestamp: time(),
      lastTimestamp: time(),
      count: 1,
    },
  });
}
/** Creates a UserSwarm whose runtime is Available. @returns its pod, and the state of its container */
async function availablePod(name: string): Promise<{ pod: KubernetesObject; running: object }> {
  const pod = await podOf(name);
  const running = { running: { startedAt: time(STARTED_AGO_MS) } };
  await mergeStatus(pathOf(pod), {
    phase: 'Running',
    startTime: time(STARTED_AGO_MS),
    conditions: conditions('True', 'True'),
    containerStatuses: [container(running, true)],
  });
  await shows(name, 'Available', DONE_WITHIN_MS);
  return { pod, running };
}

it.each([
  [
    'MountFailed',
    'cannot mount a volume of the pod',
    'FailedMount',
    'MountVolume.SetUp failed for volume "v" : secret "absent" not found',
    'The volume v of the pod cannot be mounted: the Secret absent does not exist.',
  ],
  [
    'SandboxFailed',
    'cannot create the sandbox of the pod',
    'FailedCreatePodSandBox',
    'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "6091888ef6": plugin type="ptp" failed (add): failed to allocate for range 0: no IP addresses available in range set: 10.244.0.1-10.244.0.254',
    'The node cannot set up the pod: the node has no pod IP left.',
  ],
])('CTRL-003: reports %s when the kubelet %s', async (reason, _what, warning, text, expected) => {
  const name = `workspace-${reason.toLowerCase()}`;
  const pod = await podOf(name);
  await mergeStatus(pathOf(pod), withoutSandbox());
  await shows(name, 'Starting', DONE_WITHIN_MS);
  await warn(pod, warning, text);
  const { message } = await shows(name, reason, SHOWN_WITHIN_MS);
  expect(message).toBe(expected);
});

it('CTRL-003: reports ImagePullBackOff when the kubelet finds the name of the image malformed', async () => {
  const pod = await podOf('workspace-malformed');
  await mergeStatus(pathOf(pod), {
    ...withoutSandbox(),
    conditions: conditions('False', 'True'),
    containerStatuses: [
      container({ waiting: { reason: 'InvalidImageName', message: 'couldn\'t parse image name "x y"' } }, false),
    ],
  });
  const { message } = await shows('workspace-malformed', 'ImagePullBackOff', SHOWN_WITHIN_MS);
  expect(message).toMatch(/cannot be pulled: its name is malformed\./);
});

it('CTRL-003: reports ReadinessFailed when the running container of a Ready runtime is no longer ready', async () => {
  const { pod, running } = await availablePod('workspace-unready');
  await mergeStatus(pathOf(pod), {
    conditions: conditions('False', 'True'),
    containerStatuses: [container(running, false)],
  });
  const { message } = await shows('workspace-unready', 'ReadinessFailed', SHOWN_WITHIN_MS);
  expect(message).toMatch(/^The runtime is running but fails its readiness probe\. It was Ready until /);
});

it('CTRL-003: reports SidecarCrashing when another container of the pod of a Ready runtime crashes', async () => {
  const { pod, running } = await availablePod('workspace-sidecar');
  const ended = { exitCode: 3, reason: 'Error', startedAt: time(STARTED_AGO_MS), finishedAt: time() };
  const sidecar = {
    ...container({ waiting: { reason: 'CrashLoopBackOff' } }, false),
    name: 'proxy',
    restartCount: 4,
    lastState: { terminated: ended },
  };
  await mergeStatus(pathOf(pod), {
    conditions: conditions('False', 'True'),
    containerStatuses: [container(running, true), sidecar],
  });
  const { message } = await shows('workspace-sidecar', 'SidecarCrashing', SHOWN_WITHIN_MS);
  expect(message).toMatch(/^The container proxy beside the runtime keeps stopping, last with exit code 3\./);
});

it('CTRL-003: reports Evicted when the node evicts the pod of a Ready runtime', async () => {
  const { pod } = await availablePod('workspace-evicted');
  const ended = { exitCode: 137, reason: 'Error', startedAt: time(STARTED_AGO_MS), finishedAt: time() };
  const disruption = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message: 'The node was low on resource: memory.',
    lastTransitionTime: time(),
  };
  await mergeStatus(pathOf(pod), {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 57Mi. ',
    conditions: [...conditions('False', 'False'), disruption],
    containerStatuses: [container({ terminated: ended }, false)],
  });
  const { message } = await shows('workspace-evicted', 'Evicted', SHOWN_WITHIN_MS);
  expect(message).toMatch(/^The node evicted the pod: The node was low on resource: memory\./);
});

it('does not report an eviction again when the pod that followed becomes Ready and crashes', async () => {
  const evicted = await fixture.get({ kind: 'UserSwarm', name: 'workspace-evicted' });
  expect(evicted).toBeDefined();
  const next = await eventually(
    async () =>
      (await fixture.list('Pod', fixture.namespace)).find(
        ({ metadata, ...pod }) =>
          metadata.labels?.['app.kubernetes.io/instance'] === 'workspace-evicted' &&
          (pod['status'] as { phase?: string }).phase === 'Pending' &&
          (pod['spec'] as { nodeName?: string }).nodeName === node,
      ),
    { description: 'the pod that follows is on the simulated node', timeoutMs: DONE_WITHIN_MS },
  );
  const running = { running: { startedAt: time(STARTED_AGO_MS) } };
  const initialized = (conditions('True', 'True') as { type: string }[]).map((each) => ({
    ...each,
    lastTransitionTime: time(STARTED_AGO_MS),
  }));
  await mergeStatus(pathOf(next), {
    phase: 'Running',
    startTime: time(STARTED_AGO_MS),
    conditions: initialized,
    containerStatuses: [container(running, true)],
  });
  await shows('workspace-evicted', 'Available', DONE_WITHIN_MS);
  const lost = initialized.map((each) =>
    ['Ready', 'ContainersReady'].includes(each.type) ? { ...each, status: 'False', lastTransitionTime: time() } : each,
  );
  const restarted = { ...container({ running: { startedAt: time() } }, false), restartCount: 1 };
  await mergeStatus(pathOf(next), { conditions: lost, containerStatuses: [restarted] });
  const { message } = await shows('workspace-evicted', 'Starting', SHOWN_WITHIN_MS);
  expect(message).not.toContain('evicted');
});

it('CTRL-003: reports NodeLost with the last Ready time when the node of a Ready runtime stops responding', async () => {
  const { pod } = await availablePod('workspace-lost');
  clearInterval(heartbeat);
  await eventually(
    async () => {
      const found = await fixture.get({ kind: 'Pod', namespace: fixture.namespace, name: pod.metadata.name });
      const status = found?.['status'] as { conditions?: { type: string; status: string }[] } | undefined;
      return status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'False');
    },
    { description: 'the cluster marks the node as lost', timeoutMs: LOST_WITHIN_MS },
  );
  const { message } = await shows('workspace-lost', 'NodeLost', SHOWN_WITHIN_MS);
  expect(message).toMatch(/It was Ready until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.$/);
});

it('CTRL-003: reports Unschedulable when a new UserSwarm fits only a node that is lost', async () => {
  const name = 'workspace-nowhere';
  await fixture.apply({
    apiVersion: fixture.apiVersion,
    kind: 'UserSwarm',
    metadata: { name },
    spec: { userId: 'user-1', placement: { runtimeNamespace: fixture.namespace } },
  } as KubernetesObject);
  const { message } = await shows(name, 'Unschedulable', DONE_WITHIN_MS);
  expect(message).toMatch(/untolerated taint/);
});
