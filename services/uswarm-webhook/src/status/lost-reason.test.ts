import { describe, expect, it } from '@jest/globals';
import type { Condition } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { pod, settledRequest, testFacts, testSettings, userSwarm, type World } from '../../test/webhook-input.js';
import { render } from '../render/render.js';

// Pods and conditions as Kubernetes 1.34 writes them: kubelet, node lifecycle controller, Deployment controller.

const at = (time: string): string => `2030-01-01T${time}Z`;
const STARTED = at('09:00:00');
const LOST = at('10:00:00');
const NOW = new Date(at('10:00:02'));

type PodCondition = [type: string, status: string, since: string, reason?: string];
const conditionsOf = (...list: PodCondition[]): object[] =>
  list.map(([type, status, lastTransitionTime, reason]) => ({
    type,
    status,
    lastTransitionTime,
    ...(reason === undefined ? {} : { reason }),
  }));
const SCHEDULED = conditionsOf(
  ['PodScheduled', 'True', STARTED],
  ['PodReadyToStartContainers', 'True', STARTED],
  ['Initialized', 'True', STARTED],
);
const UNREADY = conditionsOf(
  ['Ready', 'False', LOST, 'ContainersNotReady'],
  ['ContainersReady', 'False', LOST, 'ContainersNotReady'],
);
const running = { started: true, restartCount: 0, state: { running: { startedAt: STARTED } } };
const unavailable = (since: string): Record<string, unknown> => ({
  observedGeneration: 1,
  replicas: 1,
  updatedReplicas: 1,
  unavailableReplicas: 1,
  conditions: [
    { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', lastTransitionTime: STARTED },
    { type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable', lastTransitionTime: since },
  ],
});

const podWith = (container: object, conditions: object[], metadata: object = {}): KubernetesObject =>
  pod(container, { conditions: [...SCHEDULED, ...conditions], metadata: { creationTimestamp: STARTED, ...metadata } });
const withSidecar = (sidecar: object): KubernetesObject => {
  const own = podWith({ ...running, ready: true }, UNREADY);
  const status = own['status'] as { containerStatuses: object[] };
  return { ...own, status: { ...status, containerStatuses: [...status.containerStatuses, sidecar] } };
};
const evictedPod = (since: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...podWith({}, []).metadata, name: 'agent-runtime-workspace-a-0', creationTimestamp: STARTED },
  status: {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 57Mi. ',
    conditions: conditionsOf(['DisruptionTarget', 'True', since, 'TerminationByKubelet']),
  },
});
const NEW_POD = pod(
  { ready: false, started: false, state: { waiting: { reason: 'ContainerCreating' } } },
  {
    metadata: { creationTimestamp: at('10:00:01') },
    conditions: conditionsOf(
      ['PodScheduled', 'True', at('10:00:01')],
      ['Initialized', 'True', at('10:00:01')],
      ['Ready', 'False', at('10:00:01'), 'ContainersNotReady'],
    ),
  },
);
const condition = (type: Condition['type'], status: Condition['status'], time: string): Condition => ({
  type,
  status,
  lastTransitionTime: time,
  reason: 'Any',
  message: '',
});
const WAS_READY = [condition('Ready', 'True', STARTED), condition('Suspended', 'False', at('08:59:00'))];

async function readyOf(world: World, now = NOW): Promise<Condition> {
  const request = await settledRequest(userSwarm(), { deployment: unavailable(LOST), conditions: WAS_READY, ...world });
  const { status } = render(request, testSettings(), await testFacts({ now }));
  return (status['conditions'] as Condition[]).find(({ type }) => type === 'Ready')!;
}

describe('the reason of a runtime that was Ready before', () => {
  it.each<[reason: string, what: string, pods: KubernetesObject[], expected: RegExp]>([
    [
      'NodeLost',
      'only the condition Ready of the pod is False',
      [
        podWith(
          { ...running, ready: true },
          conditionsOf(['Ready', 'False', LOST], ['ContainersReady', 'True', STARTED]),
        ),
      ],
      /node of the pod no longer reports/,
    ],
    [
      'ReadinessFailed',
      'the container is running and lost readiness after its start',
      [podWith({ ...running, ready: false }, UNREADY)],
      /fails its readiness probe/,
    ],
    [
      'SidecarCrashing',
      'another container crashes',
      [
        withSidecar({
          name: 'proxy',
          ready: false,
          restartCount: 4,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 3, reason: 'Error', message: 'a secret of another workspace' } },
        }),
      ],
      /^The container proxy beside the runtime keeps stopping, last with exit code 3\. It was/,
    ],
    ['Evicted', 'its pod was evicted and has no successor yet', [evictedPod(LOST)], /low on resource: memory/],
    ['Evicted', 'its pod was evicted and the next one is starting', [NEW_POD, evictedPod(LOST)], /low on resource/],
    ['Starting', 'its pod was deleted and the next one is starting', [NEW_POD], /is starting/],
  ])('the reason is %s if %s', async (reason, _what, pods, expected) => {
    const ready = await readyOf({ pods });
    expect(ready).toMatchObject({ status: 'False', reason, message: expect.stringMatching(expected) });
  });

  it('the message has the time until which the runtime was Ready, and it does not change', async () => {
    const pods = [podWith({ ...running, ready: false }, UNREADY)];
    const first = await readyOf({ pods });
    expect(first.message).toMatch(/ It was Ready until 2030-01-01T10:00:02Z\.$/);
    const conditions = [first, WAS_READY[1]!];
    const later = await readyOf({ pods, conditions }, new Date(at('10:03:00')));
    expect(later).toEqual(first);
  });

  it('the message has no time from before the last resume', async () => {
    const conditions = [condition('Ready', 'False', at('09:00:00')), condition('Suspended', 'False', at('09:59:00'))];
    expect((await readyOf({ pods: [NEW_POD], conditions })).message).toBe('The runtime is starting.');
  });

  it('a pod that was evicted before the last resume does not give the reason Evicted', async () => {
    const conditions = [condition('Ready', 'False', at('09:00:00')), condition('Suspended', 'False', at('09:59:00'))];
    const pods = [NEW_POD, evictedPod(at('09:30:00'))];
    expect((await readyOf({ pods, conditions })).reason).toBe('Starting');
  });

  const EVICTED_EARLIER = evictedPod(at('09:30:00'));
  const CRASHED = podWith(
    { ready: false, started: true, restartCount: 1, state: { running: { startedAt: at('10:00:01') } } },
    UNREADY,
    { creationTimestamp: at('09:30:02') },
  );
  const WAITING = podWith(
    { ready: false, started: false, restartCount: 1, state: { terminated: { exitCode: 1, reason: 'Error' } } },
    UNREADY,
    { creationTimestamp: at('09:30:02') },
  );
  const READY_SINCE_EVICTION = [condition('Ready', 'True', at('09:31:00')), WAS_READY[1]!];
  it.each<[what: string, pods: KubernetesObject[], conditions: Condition[]]>([
    ['whose container was restarted', [CRASHED, EVICTED_EARLIER], READY_SINCE_EVICTION],
    ['whose container has ended', [WAITING, EVICTED_EARLIER], READY_SINCE_EVICTION],
    ['whose pod was replaced', [NEW_POD, EVICTED_EARLIER], READY_SINCE_EVICTION],
    ['whose pod was replaced earlier', [NEW_POD, EVICTED_EARLIER], [condition('Ready', 'False', LOST), WAS_READY[1]!]],
    ['whose container was restarted earlier', [CRASHED, EVICTED_EARLIER], [condition('Ready', 'False', LOST)]],
    ['of a controller that missed it', [CRASHED, EVICTED_EARLIER], WAS_READY],
  ])('an eviction is not the reason of a later loss: a runtime %s', async (_what, pods, conditions) => {
    expect((await readyOf({ pods, conditions })).reason).not.toBe('Evicted');
  });

  it('an eviction stays the reason until its successor is Ready, also if it crashes', async () => {
    const first = await readyOf({ pods: [NEW_POD, evictedPod(LOST)] });
    const crashing = podWith(
      { ready: false, restartCount: 1, state: { running: { startedAt: at('10:00:03') } } },
      conditionsOf(['Ready', 'False', STARTED, 'ContainersNotReady']),
      { creationTimestamp: at('10:00:01') },
    );
    const conditions = [first, WAS_READY[1]!];
    expect((await readyOf({ pods: [crashing, evictedPod(LOST)], conditions })).reason).toBe('Evicted');
  });

  it('a pod that waits for a readiness gate does not give the reason NodeLost', async () => {
    const conditions = conditionsOf(
      ['Ready', 'False', LOST, 'ReadinessGatesNotReady'],
      ['ContainersReady', 'True', STARTED],
    );
    expect((await readyOf({ pods: [podWith({ ...running, ready: true }, conditions)] })).reason).toBe('Starting');
  });

  it('a pod between its startup probe and first readiness probe does not give the reason ReadinessFailed', async () => {
    const conditions = conditionsOf(['Ready', 'False', at('08:59:59'), 'ContainersNotReady']);
    expect((await readyOf({ pods: [podWith({ ...running, ready: false }, conditions)] })).reason).toBe('Starting');
  });

  it.each([
    ['was lost, 300 s after its last pod was created', at('10:05:01'), 'StartDeadlineExceeded'],
    ['was lost, less than 300 s after its last pod was created', at('10:05:00'), 'Starting'],
  ])('the webhook applies the start deadline to a runtime that %s', async (_what, now, reason) => {
    // After `NewReplicaSetAvailable`, the Deployment does not check its own deadline again.
    expect((await readyOf({ pods: [NEW_POD] }, new Date(now))).reason).toBe(reason);
  });

  it('a runtime that lost its node does not get a newer revision', async () => {
    const pods = [
      podWith(
        { ...running, ready: true },
        conditionsOf(['Ready', 'False', LOST], ['ContainersReady', 'True', STARTED]),
      ),
    ];
    const request = await settledRequest(userSwarm(), { deployment: unavailable(LOST), conditions: WAS_READY, pods });
    const settings = testSettings({ image: 'registry.test/runtime:2' });
    const { status } = render(request, settings, await testFacts());
    expect(status).toMatchObject({ image: 'registry.test/runtime:1', pendingRevision: settings.platformRevision });
  });
});

describe('the message about a crashing runtime', () => {
  const crashed = (terminated: object, restartCount = 2): World => ({
    conditions: [],
    pods: [
      podWith(
        { ready: false, restartCount, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated } },
        conditionsOf(['Ready', 'False', STARTED, 'ContainersNotReady']),
      ),
    ],
  });

  it('exit code 134 is reported as OOMKilled with a full heap', async () => {
    const { reason, message } = await readyOf(crashed({ exitCode: 134, reason: 'Error' }));
    expect({ reason, message }).toEqual({
      reason: 'OOMKilled',
      message: 'The runtime aborted with exit code 134, as Node.js does when its heap is full.',
    });
  });

  it.each([
    ['killed after the time of its startup probe', at('09:02:05'), /did not pass its startup probe/],
    ['killed earlier', at('09:01:00'), /keeps stopping, last with exit code 137/],
  ])('a failed startup probe is distinguished from another kill: %s', async (_what, finishedAt, expected) => {
    const terminated = { exitCode: 137, reason: 'Error', startedAt: STARTED, finishedAt };
    expect(await readyOf(crashed(terminated))).toMatchObject({
      reason: 'CrashLoopBackOff',
      message: expect.stringMatching(expected),
    });
  });

  it('a kill of a pod that was ready before is not reported as a failed startup probe', async () => {
    const terminated = { exitCode: 137, reason: 'Error', startedAt: at('08:00:00'), finishedAt: at('09:30:00') };
    expect((await readyOf(crashed(terminated))).message).toMatch(/last with exit code 137/);
  });

  it('the message contains the last fatal log record', async () => {
    const message = `${JSON.stringify({ level: 'fatal', msg: 'USWARM_MODEL_TIMEOUT_MS: expected number' })}\n`;
    expect((await readyOf(crashed({ exitCode: 1, reason: 'Error', message }))).message).toBe(
      'The runtime keeps stopping, last with exit code 1: USWARM_MODEL_TIMEOUT_MS: expected number.',
    );
  });

  it('the termination message policy keeps the end of the log', async () => {
    const { children } = render(await settledRequest(userSwarm()), testSettings(), await testFacts());
    expect(JSON.stringify(children)).toContain('"terminationMessagePolicy":"FallbackToLogsOnError"');
  });
});
