import { describe, expect, it } from '@jest/globals';
import type { Condition, KubernetesObject, SyncRequest } from '@uswarm/contract/userswarm';
import { pod, settledRequest, testFacts, testSettings, userSwarm, type World } from '../../test/webhook-input.js';
import { render } from '../render/render.js';
import type { RenderFacts } from '../render/settings.js';

const NOT_READY = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1 };
const waiting = (reason: string, message = ''): KubernetesObject => pod({ state: { waiting: { reason, message } } });
const synced = (reason: string): Condition => ({
  type: 'Synced',
  status: 'False',
  reason,
  message: 'what the API server said',
  lastTransitionTime: '2029-12-31T00:00:00Z',
});

async function statusOf(request: SyncRequest, facts: Partial<RenderFacts> = {}) {
  const { status, resyncAfterSeconds } = render(request, testSettings(), await testFacts(facts));
  const conditions = status['conditions'] as Condition[];
  const [ready] = conditions;
  return { phase: status['phase'], ready: ready!, conditions, resyncAfterSeconds };
}
const starting = (world: World): Promise<SyncRequest> =>
  settledRequest(userSwarm(), { deployment: NOT_READY, ...world });

describe('the cause in the REASON column', () => {
  const CAUSES: Record<string, World> = {
    NamespaceMissing: { namespaces: [] },
    NameConflict: { conditions: [synced('NameConflict')] },
    Forbidden: { conditions: [synced('Forbidden')] },
    ApplyFailed: { conditions: [synced('SomethingNew')] },
    SecretMissing: { pods: [waiting('CreateContainerConfigError', 'secret "workspace-a-env" not found')] },
    ImagePullBackOff: { pods: [waiting('ErrImagePull', 'manifest unknown')] },
    OOMKilled: {
      pods: [
        pod({ state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { reason: 'OOMKilled' } } }),
      ],
    },
    CrashLoopBackOff: { pods: [waiting('CrashLoopBackOff')] },
    Unschedulable: {
      pods: [pod({}, { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] })],
    },
    StartDeadlineExceeded: {
      deployment: {
        ...NOT_READY,
        conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
      },
    },
    QuotaExceeded: {
      deployment: {
        ...NOT_READY,
        conditions: [{ type: 'ReplicaFailure', status: 'True', message: 'pods "a-1" is forbidden: exceeded quota: q' }],
      },
    },
    Starting: {},
  };

  it.each(Object.keys(CAUSES))('%s', async (reason) => {
    const { phase, ready } = await statusOf(await starting(CAUSES[reason]!));
    expect([phase, ready.status, ready.reason]).toEqual(['Progressing', 'False', reason]);
    expect(ready.message).not.toBe('');
  });

  it('is the first one in their order where several apply', async () => {
    const order = ['SecretMissing', 'ImagePullBackOff', 'OOMKilled', 'CrashLoopBackOff', 'Unschedulable'];
    for (const [index, reason] of order.entries()) {
      const pods = order.slice(index).flatMap((later) => CAUSES[later]!.pods ?? []);
      const named = pods.map((one, at) => ({ ...one, metadata: { ...one.metadata, name: `pod-${at}` } }));
      const { deployment } = CAUSES['StartDeadlineExceeded']!;
      const request = await starting({ pods: named, ...(deployment === undefined ? {} : { deployment }) });
      expect((await statusOf(request, { database: 'unreachable' })).ready.reason).toBe(reason);
    }
  });

  it('says the same of one failed pull in both wordings of the kubelet', async () => {
    const cause = 'failed to resolve reference "x": x: not found';
    const first = await statusOf(await starting({ pods: [waiting('ErrImagePull', cause)] }));
    const second = await statusOf(
      await starting({ pods: [waiting('ImagePullBackOff', `Back-off pulling: ${cause}`)] }),
    );
    expect(first.ready).toEqual(second.ready);
    expect(first.ready.message).toBe('The image registry.test/runtime:1 cannot be pulled: it does not exist.');
  });

  it.each([
    ['ErrImagePull', '401 Unauthorized', 'the registry denies access'],
    ['ErrImagePull', 'dial tcp: lookup registry.test: no such host', 'the registry is unreachable'],
    ['InvalidImageName', '', 'its name is malformed'],
    ['ErrImageNeverPull', '', 'its pull policy is Never'],
  ])('%s %s: %s', async (reason, message, said) => {
    expect((await statusOf(await starting({ pods: [waiting(reason, message)] }))).ready.message).toContain(said);
  });

  it('names the Secret, and the key in it', async () => {
    const text = "couldn't find key SVC_DATABASE_PASSWORD in Secret userswarms/uswarm-runtime-stores";
    const { ready } = await statusOf(await starting({ pods: [waiting('CreateContainerConfigError', text)] }));
    expect(ready.message).toBe('The Secret userswarms/uswarm-runtime-stores has no key SVC_DATABASE_PASSWORD.');
  });

  it('does not take one restart for a loop, but a second one, also between two starts', async () => {
    const crashed = (restartCount: number): World => ({
      pods: [pod({ restartCount, state: { running: {} }, lastState: { terminated: { exitCode: 1 } } })],
    });
    expect((await statusOf(await starting(crashed(1)))).ready.reason).toBe('Starting');
    expect((await statusOf(await starting(crashed(2)))).ready.reason).toBe('CrashLoopBackOff');
  });

  it('does not look at pods that go, or at those of others', async () => {
    const going = { ...waiting('CrashLoopBackOff') };
    going.metadata = { ...going.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' };
    const others = pod({ state: { waiting: { reason: 'ErrImagePull' } } }, { metadata: { name: 'b', labels: {} } });
    expect((await statusOf(await starting({ pods: [going, others] }))).ready.reason).toBe('Starting');
  });

  it.each(['Failed', 'Succeeded'])('does not look at a pod that ended for good (%s)', async (phase) => {
    const [killed] = CAUSES['OOMKilled']!.pods!;
    const evicted = {
      ...killed!,
      metadata: { ...killed!.metadata, name: 'evicted' },
      status: { ...(killed!['status'] as object), phase, reason: 'Evicted' },
    };
    const pods = [evicted, ...CAUSES['Unschedulable']!.pods!];
    expect((await statusOf(await starting({ pods }))).ready.reason).toBe('Unschedulable');
  });

  it('leaves the name of the refused pod out: it is another one each time', async () => {
    const { ready } = await statusOf(await starting(CAUSES['QuotaExceeded']!));
    expect(ready.message).toBe('The pod was rejected: exceeded quota: q');
  });

  it('is Forbidden where anything but a quota refuses the pod', async () => {
    const message = 'pods "a-1" is forbidden: violates PodSecurity "restricted:latest"';
    const deployment = { ...NOT_READY, conditions: [{ type: 'ReplicaFailure', status: 'True', message }] };
    expect((await statusOf(await starting({ deployment }))).ready.reason).toBe('Forbidden');
  });
});

describe('Ready', () => {
  it('is what a whole set of children with a ready pod is', async () => {
    const { phase, conditions } = await statusOf(await settledRequest(userSwarm()));
    expect(phase).toBe('Ready');
    expect(conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
      'Ready True Available',
      'ConfigValid True Valid',
      'DependenciesReachable True NotConfigured',
      'RuntimeAvailable True Available',
      'Suspended False NotSuspended',
      'UpToDate True UpToDate',
      'Synced Unknown NotYetSynced',
    ]);
    expect(conditions.every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
  });

  it('is not what a pod of an older template makes', async () => {
    const request = await settledRequest(userSwarm());
    const parent = userSwarm({ config: { defaultModel: 'another' } });
    expect((await statusOf({ ...request, parent })).phase).toBe('Progressing');
  });

  it.each(['ServiceAccount.v1', 'Service.v1', 'Deployment.apps/v1'] as const)('needs the %s', async (group) => {
    const request = await settledRequest(userSwarm());
    expect((await statusOf({ ...request, children: { ...request.children, [group]: {} } })).phase).toBe('Progressing');
  });

  const isReady = (status: 'True' | 'False') => pod({}, { conditions: [{ type: 'Ready', status }] });

  it('follows the pod of a Deployment whose spec never changed, before the Deployment says so', async () => {
    const behind = await settledRequest(userSwarm(), { deployment: NOT_READY, pods: [isReady('True')] });
    expect((await statusOf(behind)).phase).toBe('Ready');
    const ahead = await settledRequest(userSwarm(), { pods: [isReady('False')] });
    expect((await statusOf(ahead)).phase).toBe('Progressing');
  });

  it('does not follow the pod of a Deployment whose spec changed: it may be one of the former template', async () => {
    const request = await settledRequest(userSwarm(), { deployment: NOT_READY, pods: [isReady('True')] });
    for (const { metadata } of Object.values(request.children['Deployment.apps/v1'])) metadata.generation = 2;
    expect((await statusOf(request)).phase).toBe('Progressing');
  });

  it('waits for the Deployment controller to have seen the Deployment', async () => {
    const deployment = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, observedGeneration: 0 };
    expect((await statusOf(await settledRequest(userSwarm(), { deployment }))).phase).toBe('Progressing');
  });

  it('keeps the time of a condition until its status flips, whatever the reason', async () => {
    const first = await statusOf(await starting({}), { now: new Date('2030-01-01T00:00:05.900Z') });
    expect(first.ready.lastTransitionTime).toBe('2030-01-01T00:00:05Z');
    const { conditions } = first;
    const later = { now: new Date('2030-01-02T00:00:00Z') };
    const second = await statusOf(await starting({ conditions, pods: [waiting('CrashLoopBackOff')] }), later);
    expect([second.ready.reason, second.ready.lastTransitionTime]).toEqual([
      'CrashLoopBackOff',
      '2030-01-01T00:00:05Z',
    ]);
    const third = await statusOf(await settledRequest(userSwarm(), { conditions }), later);
    expect([third.phase, third.ready.lastTransitionTime]).toEqual(['Ready', '2030-01-02T00:00:00Z']);
  });

  it('gives Synced back as it came', async () => {
    const before = synced('NameConflict');
    const { conditions } = await statusOf(await settledRequest(userSwarm(), { conditions: [before] }));
    expect(conditions.at(-1)).toEqual(before);
  });

  it('does not mind that the webhook was away', async () => {
    const { ready } = await statusOf(await starting({ conditions: [synced('WebhookUnavailable')] }));
    expect(ready.reason).toBe('Starting');
  });
});

describe('the database', () => {
  const down = { database: 'unreachable' as const };

  it('keeps a swarm that was never Ready in Progressing, also with a ready pod', async () => {
    const { phase, ready, conditions, resyncAfterSeconds } = await statusOf(await settledRequest(userSwarm()), down);
    expect([phase, ready.reason]).toEqual(['Progressing', 'DatabaseUnreachable']);
    expect(conditions.find(({ type }) => type === 'DependenciesReachable')?.status).toBe('False');
    expect(resyncAfterSeconds).toBeGreaterThan(0);
  });

  it('is the reason only where nothing nearer is', async () => {
    expect((await statusOf(await starting({}), down)).ready.reason).toBe('DatabaseUnreachable');
    const crashing = await starting({ pods: [waiting('CrashLoopBackOff')] });
    expect((await statusOf(crashing, down)).ready.reason).toBe('CrashLoopBackOff');
  });

  it('leaves a swarm alone that is Ready', async () => {
    const { conditions } = await statusOf(await settledRequest(userSwarm()), { database: 'reachable' });
    const later = await statusOf(await settledRequest(userSwarm(), { conditions }), down);
    expect([later.phase, later.ready]).toEqual(['Ready', conditions[0]]);
    const told = later.conditions.find(({ type }) => type === 'DependenciesReachable');
    expect(told).toMatchObject({ status: 'False', reason: 'DatabaseUnreachable' });
    const others = (all: Condition[]) => all.filter(({ type }) => type !== 'DependenciesReachable');
    expect(others(later.conditions)).toEqual(others(conditions));
  });
});

describe('other phases', () => {
  it('Suspended at once, whatever still runs', async () => {
    const { phase, ready } = await statusOf(await settledRequest(userSwarm({ suspend: true })));
    expect([phase, ready.status, ready.reason]).toEqual(['Suspended', 'False', 'Suspended']);
  });

  it('Error goes before Suspended', async () => {
    const spec = { suspend: true, placement: { runtimeNamespace: 'kube-system' } };
    const { phase, conditions } = await statusOf(await settledRequest(userSwarm(spec)));
    expect(phase).toBe('Error');
    expect(conditions.find(({ type }) => type === 'Suspended')?.status).toBe('True');
  });

  it('Deleting goes before everything, and says what it waits for', async () => {
    const request = { ...(await settledRequest(userSwarm({ suspend: true }))), finalizing: true };
    const { phase, ready } = await statusOf(request);
    expect([phase, ready.reason]).toEqual(['Deleting', 'Deleting']);
    expect(ready.message).toContain('Deployment userswarms/agent-runtime-workspace-a');
  });

  it('Deleting names the pods, which take longest, as long as there are any', async () => {
    const settled = await settledRequest(userSwarm(), { pods: [pod({})] });
    const { ready } = await statusOf({ ...settled, finalizing: true });
    expect(ready.message).toBe('Waiting for the deletion of Pod agent-runtime-workspace-a-1.');
  });

  it('Deleting shows from the deletion on, also while the garbage collector has its turn', async () => {
    const request = await settledRequest(userSwarm());
    const metadata = { ...request.parent.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' };
    const answer = render({ ...request, parent: { ...request.parent, metadata } }, testSettings(), await testFacts());
    expect(answer.status['phase']).toBe('Deleting');
    expect(answer.children).toHaveLength(3);
  });
});
