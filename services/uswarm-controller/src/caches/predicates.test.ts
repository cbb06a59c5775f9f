import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-client';
import { childChanged, podChanged } from './predicates.js';

type Concerns = (change: { before?: KubernetesObject; after?: KubernetesObject }) => boolean;
type State = KubernetesObject | undefined;

/** Tells for each change from one state to the next if it passes the predicate. */
const steps = (concerns: Concerns, ...states: readonly State[]): boolean[] =>
  states.slice(1).map((after, at) => {
    const before = states[at];
    return concerns({ ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) });
  });

const deployment = (status?: object, metadata: object = {}, spec: object = {}): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', namespace: 'ns', uid: 'u', generation: 1, labels: { a: 'b' }, ...metadata },
  spec: { replicas: 1, ...spec },
  ...(status === undefined ? {} : { status }),
});
const condition = (type: string, status: string, reason = type, message = ''): object => ({
  type,
  status,
  reason,
  message,
  lastUpdateTime: `${type} ${status} ${reason}`,
});
const REVISED = { annotations: { 'deployment.kubernetes.io/revision': '1' } };
const begun = { observedGeneration: 1, conditions: [condition('Progressing', 'True', 'NewReplicaSetCreated')] };
const scaled = {
  observedGeneration: 1,
  replicas: 1,
  updatedReplicas: 1,
  unavailableReplicas: 1,
  conditions: [condition('Available', 'False'), condition('Progressing', 'True', 'ReplicaSetUpdated')],
};
const available = {
  observedGeneration: 1,
  replicas: 1,
  updatedReplicas: 1,
  readyReplicas: 1,
  availableReplicas: 1,
  conditions: [condition('Available', 'True'), condition('Progressing', 'True', 'NewReplicaSetAvailable')],
};

const withPod =
  (isReady: boolean): Concerns =>
  (change) =>
    childChanged(change, () => isReady);

describe('childChanged', () => {
  it.each([
    ['none when its Deployment is up for the first time, after its pod', 1, true, false],
    ['one when its Deployment is up and no pod was seen', 1, false, true],
    ['one when its Deployment is up again after a change', 2, true, true],
  ])('passes %s', (_what, generation, podIsReady, expected) => {
    const seen = { generation };
    const up = deployment({ ...available, observedGeneration: generation }, { ...REVISED, ...seen });
    const coming = deployment({ ...scaled, observedGeneration: generation }, { ...REVISED, ...seen });
    expect(steps(withPod(podIsReady), coming, up)).toEqual([expected]);
  });

  it('filters the progress of a starting Deployment', () => {
    const life = [
      deployment(),
      deployment(undefined, REVISED),
      deployment(begun, REVISED),
      deployment(scaled, REVISED),
    ];
    expect(steps(withPod(false), ...life)).toEqual([false, false, false]);
  });

  it('passes creation, deletion, termination and replacement', () => {
    const going = deployment(available, { deletionTimestamp: 'now' });
    const life = [undefined, deployment(available), going, undefined];
    expect(steps(withPod(false), ...life)).toEqual([true, true, true]);
    expect(steps(withPod(false), deployment(), deployment(undefined, { uid: 'v' }))).toEqual([true]);
  });

  it.each([
    ['is not available any more', { ...available, readyReplicas: 0 }],
    ['is available as it was before the last change only', { ...available, observedGeneration: 0 }],
    ['may not have its pod', { ...available, conditions: [condition('ReplicaFailure', 'True')] }],
    ['takes too long', { ...available, conditions: [condition('Progressing', 'False', 'ProgressDeadlineExceeded')] }],
  ])('passes a Deployment that %s', (_what, status) => {
    expect(steps(withPod(false), deployment(available), deployment(status))).toEqual([true]);
  });

  it('passes a new failure cause', () => {
    const failing = (message: string): KubernetesObject =>
      deployment({ ...scaled, conditions: [condition('ReplicaFailure', 'True', 'FailedCreate', message)] });
    expect(steps(withPod(false), failing('quota'), failing('quota'), failing('forbidden'))).toEqual([false, true]);
  });

  it.each([
    ['label', { labels: { a: 'c' } }, {}],
    ['annotation', { annotations: { c: 'd' } }, {}],
    ['owner', { ownerReferences: [] }, {}],
    ['field', {}, { replicas: 2 }],
  ])('passes a change of a %s', (_what, metadata, spec) => {
    expect(steps(withPod(false), deployment(available), deployment(available, metadata, spec))).toEqual([true]);
  });

  it('passes any change of another kind', () => {
    const service = (status: object): KubernetesObject => ({ ...deployment(status), kind: 'Service' });
    expect(steps(withPod(false), service({}), service({}), service({ conditions: [{}] }))).toEqual([false, true]);
  });
});

const pod = (status: object, metadata: object = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'ns', ...metadata },
  status,
});
const container = (fields: object): object => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'agent-runtime', ready: false, restartCount: 0, ...fields }],
});
const waiting = (reason: string, message?: string): object => container({ state: { waiting: { reason, message } } });
const unschedulable = (message: string): object => ({
  conditions: [condition('PodScheduled', 'False', 'Unschedulable', message)],
});
const running = { state: { running: {} } };

describe('podChanged', () => {
  it('passes a pod that becomes ready, terminates or is deleted', () => {
    const life = [
      undefined,
      pod({ phase: 'Pending' }),
      pod({ phase: 'Pending', conditions: [condition('PodScheduled', 'True')] }),
      pod(waiting('ContainerCreating')),
      pod(container(running)),
      pod({ ...container({ ...running, ready: true }), phase: 'Running', conditions: [condition('Ready', 'True')] }),
      pod({ ...container({ ...running, ready: true }), phase: 'Running', conditions: [condition('Ready', 'True')] }),
      pod(container({ state: { terminated: { exitCode: 0 } } }), { deletionTimestamp: 'now' }),
      undefined,
    ];
    expect(steps(podChanged, ...life)).toEqual([false, false, false, false, true, false, true, true]);
  });

  it.each([
    ['no node takes it', unschedulable('no room'), unschedulable('no room at all')],
    ['its image cannot be pulled', waiting('ErrImagePull'), waiting('ImagePullBackOff')],
    ['it ended', container({ state: { terminated: { exitCode: 1 } } }), container({ restartCount: 1, ...running })],
    [
      'it was restarted',
      container({ restartCount: 1, lastState: { terminated: { reason: 'OOMKilled' } }, ...running }),
      container({ restartCount: 2, lastState: { terminated: { reason: 'OOMKilled' } }, ...running }),
    ],
    [
      'its node is lost',
      {
        ...container({ ...running, ready: true }),
        conditions: [condition('Ready', 'False'), condition('ContainersReady', 'True')],
      },
      waiting('CrashLoopBackOff'),
    ],
    [
      'it fails its readiness probe after it was ready',
      {
        ...container({ ready: false, state: { running: { startedAt: '2030-01-01T00:00:00Z' } } }),
        conditions: [{ ...condition('Ready', 'False'), lastTransitionTime: '2030-01-01T01:00:00Z' }],
      },
      waiting('CrashLoopBackOff'),
    ],
    ['it failed', { phase: 'Failed', reason: 'Evicted' }, { phase: 'Failed', reason: 'Other' }],
    [
      'an init container fails',
      { initContainerStatuses: [{ name: 'first', state: { waiting: { reason: 'CrashLoopBackOff' } } }] },
      { initContainerStatuses: [{ name: 'first', restartCount: 3 }] },
    ],
  ])('passes a pod when %s, when the cause changes, and when it is resolved', (_what, trouble, other) => {
    const well = pod(container({ ...running, ready: true }));
    expect(steps(podChanged, well, pod(trouble), pod(trouble), pod(other), well)).toEqual([true, false, true, true]);
  });

  it('passes the deletion of a pod with a cause', () => {
    expect(steps(podChanged, pod(waiting('ErrImagePull')), undefined)).toEqual([true]);
  });
});
