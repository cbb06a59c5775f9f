import { describe, expect, it } from '@jest/globals';
import type { Condition, SyncRequest } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { pod, settledRequest, testFacts, testSettings, userSwarm } from '../../test/webhook-input.js';
import { render } from '../render/render.js';

// Pods and Events as Kubernetes 1.34 writes them.

const NOT_READY = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1 };
const STUCK = pod(
  { started: false, restartCount: 0, state: { waiting: { reason: 'ContainerCreating' } } },
  {
    metadata: { uid: 'pod-uid' },
    conditions: [
      { type: 'PodReadyToStartContainers', status: 'False' },
      { type: 'PodScheduled', status: 'True' },
    ],
  },
);
const event = ([reason, message]: readonly [string, string], uid = 'pod-uid'): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: `${reason}.${message.length}`, namespace: 'userswarms' },
  involvedObject: { uid },
  reason,
  message,
});

async function readyOf(...events: KubernetesObject[]): Promise<Pick<Condition, 'reason' | 'message'>> {
  const request: SyncRequest = await settledRequest(userSwarm(), { deployment: NOT_READY, pods: [STUCK] });
  const related = {
    ...request.related,
    'Event.v1': Object.fromEntries(events.map((each) => [each.metadata.name, each])),
  };
  const { status } = render({ ...request, related }, testSettings(), await testFacts());
  const { reason, message } = (status['conditions'] as Condition[])[0]!;
  return { reason, message };
}

const MISSING_SECRET = ['FailedMount', 'MountVolume.SetUp failed for volume "v" : secret "absent" not found'] as const;
const TIMED_OUT = [
  'FailedMount',
  'Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[]: timed out waiting for the condition',
] as const;
const NO_IP = [
  'FailedCreatePodSandBox',
  'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "6091888ef6": plugin type="ptp" failed (add): failed to allocate for range 0: no IP addresses available in range set: 10.244.0.1-10.244.0.254',
] as const;

describe('the reason of a pod without a sandbox', () => {
  it.each<[what: string, event: readonly [string, string], reason: string, message: string]>([
    [
      'a missing Secret',
      MISSING_SECRET,
      'MountFailed',
      'The volume v of the pod cannot be mounted: the Secret absent does not exist.',
    ],
    ['a mount without a cause', TIMED_OUT, 'MountFailed', 'The volume v of the pod cannot be mounted.'],
    [
      'a node without a free pod IP',
      NO_IP,
      'SandboxFailed',
      'The node cannot set up the pod: the node has no pod IP left.',
    ],
    [
      'a node without a free pod IP on AWS',
      [
        'FailedCreatePodSandBox',
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "1": plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container',
      ],
      'SandboxFailed',
      'The node cannot set up the pod: the node has no pod IP left.',
    ],
    [
      'an uninitialized network plugin',
      [
        'NetworkNotReady',
        'network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized',
      ],
      'SandboxFailed',
      'The node cannot set up the pod: the network plugin is not ready.',
    ],
    [
      'a missing runtime class',
      [
        'FailedCreatePodSandBox',
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "gvisor" is configured',
      ],
      'SandboxFailed',
      'The node cannot set up the pod: the node does not have its runtime class.',
    ],
    [
      'an unresponsive container runtime',
      [
        'FailedCreatePodSandBox',
        'Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded',
      ],
      'SandboxFailed',
      'The node cannot set up the pod: the container runtime does not answer in time.',
    ],
  ])('the reason names %s', async (_what, observed, reason, message) => {
    expect(await readyOf(event(observed))).toEqual({ reason, message });
  });

  it('an additional kubelet timeout Event does not change the reason', async () => {
    expect(await readyOf(event(TIMED_OUT), event(MISSING_SECRET))).toEqual(await readyOf(event(MISSING_SECRET)));
  });

  it('the newest Event determines the reason', async () => {
    expect((await readyOf(event(NO_IP), event(MISSING_SECRET))).reason).toBe('SandboxFailed');
  });

  it('the reason is Starting without Events and with Events of another pod', async () => {
    expect((await readyOf()).reason).toBe('Starting');
    expect((await readyOf(event(NO_IP, 'another'))).reason).toBe('Starting');
  });
});
