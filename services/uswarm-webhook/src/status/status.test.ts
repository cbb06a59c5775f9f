import { describe, expect, it } from '@jest/globals';
import type { Condition, SyncRequest } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import {
  pod,
  settledRequest,
  syncRequest,
  testFacts,
  testSettings,
  userSwarm,
  type World,
} from '../../test/webhook-input.js';
import { render } from '../render/render.js';
import type { RenderFacts } from '../render/settings.js';

const NOT_READY = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1 };
const waiting = (reason: string, message = ''): KubernetesObject => pod({ state: { waiting: { reason, message } } });
const synced = (reason: string): Condition => ({
  type: 'Synced',
  status: 'False',
  reason,
  message: 'the message of the API server',
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

describe('the reason of the condition Ready', () => {
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

  it.each(Object.keys(CAUSES))('the reason is %s', async (reason) => {
    const { phase, ready } = await statusOf(await starting(CAUSES[reason]!));
    expect({ phase, status: ready.status, reason: ready.reason }).toEqual({
      phase: 'Progressing',
      status: 'False',
      reason,
    });
    expect(ready.message).not.toBe('');
  });

  describe('of a deleted child', () => {
    type Group = keyof SyncRequest['children'];
    async function readyWith(group: Group, finalizers: string[], world: World = {}) {
      const request = await starting(world);
      for (const { metadata } of Object.values(request.children[group]))
        Object.assign(metadata, { deletionTimestamp: '2030-01-01T00:00:00Z', finalizers });
      const { phase, ready } = await statusOf(request);
      return { phase, reason: ready.reason, message: ready.message };
    }
    const NAME = 'userswarms/agent-runtime-workspace-a';

    it.each<[Group, string]>([
      ['Deployment.apps/v1', 'Deployment'],
      ['Service.v1', 'Service'],
    ])('names the finalizers of other programs that keep it: %s', async (group, kind) => {
      const finalizers = ['foregroundDeletion', 'example.com/backup', 'example.com/audit'];
      expect(await readyWith(group, finalizers, { pods: [waiting('CrashLoopBackOff')] })).toEqual({
        phase: 'Progressing',
        reason: 'ApplyFailed',
        message: `The ${kind} ${NAME} is being deleted and waits for its finalizers: example.com/backup, example.com/audit.`,
      });
    });

    it.each<[string, Group, string[]]>([
      ['only Kubernetes keeps it, until its pods are deleted', 'Deployment.apps/v1', ['foregroundDeletion']],
      ['the runtime does not need it to start', 'ServiceAccount.v1', ['example.com/backup']],
    ])('is Starting if %s', async (_when, group, finalizers) => {
      expect((await readyWith(group, finalizers)).reason).toBe('Starting');
    });
  });

  it('the reason is the first one in order of precedence if several apply', async () => {
    const order = ['SecretMissing', 'ImagePullBackOff', 'OOMKilled', 'CrashLoopBackOff', 'Unschedulable'];
    for (const [index, reason] of order.entries()) {
      const pods = order.slice(index).flatMap((later) => CAUSES[later]!.pods ?? []);
      const named = pods.map((one, at) => ({ ...one, metadata: { ...one.metadata, name: `pod-${at}` } }));
      const { deployment } = CAUSES['StartDeadlineExceeded']!;
      const request = await starting({ pods: named, ...(deployment === undefined ? {} : { deployment }) });
      expect((await statusOf(request, { database: 'unreachable' })).ready.reason).toBe(reason);
    }
  });

  it('a missing namespace is described with the namespaces that an upgrade creates and those that it does not', async () => {
    const { ready } = await statusOf(await starting({ namespaces: [] }));
    expect(ready.message).toBe(
      'The namespace userswarms does not exist. helm upgrade creates runtime.namespace, but none of runtime.extraNamespaces.',
    );
  });

  it('both kubelet reasons for a failed image pull give the same condition', async () => {
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
  ])('%s with message "%s" reports: %s', async (reason, message, expected) => {
    expect((await statusOf(await starting({ pods: [waiting(reason, message)] }))).ready.message).toContain(expected);
  });

  it('the message names the Secret and its missing key', async () => {
    const text = "couldn't find key SVC_DATABASE_PASSWORD in Secret userswarms/uswarm-runtime-stores";
    const { ready } = await statusOf(await starting({ pods: [waiting('CreateContainerConfigError', text)] }));
    expect(ready.message).toBe('The Secret userswarms/uswarm-runtime-stores has no key SVC_DATABASE_PASSWORD.');
  });

  it('one restart is not a crash loop; two restarts are, even between two starts', async () => {
    const crashed = (restartCount: number): World => ({
      pods: [pod({ restartCount, state: { running: {} }, lastState: { terminated: { exitCode: 1 } } })],
    });
    expect((await statusOf(await starting(crashed(1)))).ready.reason).toBe('Starting');
    expect((await statusOf(await starting(crashed(2)))).ready.reason).toBe('CrashLoopBackOff');
  });

  it('terminating pods and foreign pods are ignored', async () => {
    const terminating = { ...waiting('CrashLoopBackOff') };
    terminating.metadata = { ...terminating.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' };
    const others = pod({ state: { waiting: { reason: 'ErrImagePull' } } }, { metadata: { name: 'b', labels: {} } });
    expect((await statusOf(await starting({ pods: [terminating, others] }))).ready.reason).toBe('Starting');
  });

  it.each(['Failed', 'Succeeded'])('a pod in phase %s is ignored', async (phase) => {
    const [killed] = CAUSES['OOMKilled']!.pods!;
    const evicted = {
      ...killed!,
      metadata: { ...killed!.metadata, name: 'evicted' },
      status: { ...(killed!['status'] as object), phase, reason: 'Evicted' },
    };
    const pods = [evicted, ...CAUSES['Unschedulable']!.pods!];
    expect((await statusOf(await starting({ pods }))).ready.reason).toBe('Unschedulable');
  });

  it('the message omits the name of the rejected pod, which changes with each attempt', async () => {
    const { ready } = await statusOf(await starting(CAUSES['QuotaExceeded']!));
    expect(ready.message).toBe('The pod was rejected: exceeded quota: q');
  });

  it('the reason is Forbidden if anything except a quota rejects the pod', async () => {
    const message = 'pods "a-1" is forbidden: violates PodSecurity "restricted:latest"';
    const deployment = { ...NOT_READY, conditions: [{ type: 'ReplicaFailure', status: 'True', message }] };
    expect((await statusOf(await starting({ deployment }))).ready.reason).toBe('Forbidden');
  });
});

describe('the phase Ready', () => {
  it('a UserSwarm is Ready if all children exist and the pod is ready', async () => {
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

  it('a pod of an older template is not Ready', async () => {
    const request = await settledRequest(userSwarm());
    const parent = userSwarm({ config: { defaultModel: 'another' } });
    expect((await statusOf({ ...request, parent })).phase).toBe('Progressing');
  });

  it.each(['ServiceAccount.v1', 'Service.v1', 'Deployment.apps/v1'] as const)(
    'Ready requires the %s',
    async (group) => {
      const request = await settledRequest(userSwarm());
      expect((await statusOf({ ...request, children: { ...request.children, [group]: {} } })).phase).toBe(
        'Progressing',
      );
    },
  );

  const isReady = (status: 'True' | 'False') => pod({}, { conditions: [{ type: 'Ready', status }] });

  it('Ready follows the pod, not the Deployment status, if the Deployment spec never changed', async () => {
    const behind = await settledRequest(userSwarm(), { deployment: NOT_READY, pods: [isReady('True')] });
    expect((await statusOf(behind)).phase).toBe('Ready');
    const ahead = await settledRequest(userSwarm(), { pods: [isReady('False')] });
    expect((await statusOf(ahead)).phase).toBe('Progressing');
  });

  it('Ready does not follow the pod after the Deployment spec changed, because the pod may be outdated', async () => {
    const request = await settledRequest(userSwarm(), { deployment: NOT_READY, pods: [isReady('True')] });
    for (const { metadata } of Object.values(request.children['Deployment.apps/v1'])) metadata.generation = 2;
    expect((await statusOf(request)).phase).toBe('Progressing');
  });

  it('Ready requires that the Deployment controller observed the current generation', async () => {
    const deployment = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, observedGeneration: 0 };
    expect((await statusOf(await settledRequest(userSwarm(), { deployment }))).phase).toBe('Progressing');
  });

  it('lastTransitionTime changes only with the status of a condition', async () => {
    const first = await statusOf(await starting({}), { now: new Date('2030-01-01T00:00:05.900Z') });
    expect(first.ready.lastTransitionTime).toBe('2030-01-01T00:00:05Z');
    const { conditions } = first;
    const later = { now: new Date('2030-01-02T00:00:00Z') };
    const second = await statusOf(await starting({ conditions, pods: [waiting('CrashLoopBackOff')] }), later);
    expect({ reason: second.ready.reason, lastTransitionTime: second.ready.lastTransitionTime }).toEqual({
      reason: 'CrashLoopBackOff',
      lastTransitionTime: '2030-01-01T00:00:05Z',
    });
    const third = await statusOf(await settledRequest(userSwarm(), { conditions }), later);
    expect({ phase: third.phase, lastTransitionTime: third.ready.lastTransitionTime }).toEqual({
      phase: 'Ready',
      lastTransitionTime: '2030-01-02T00:00:00Z',
    });
  });

  it('the condition Synced is returned unchanged', async () => {
    const before = synced('NameConflict');
    const { conditions } = await statusOf(await settledRequest(userSwarm(), { conditions: [before] }));
    expect(conditions.at(-1)).toEqual(before);
  });

  it('an earlier WebhookUnavailable does not affect the reason', async () => {
    const { ready } = await statusOf(await starting({ conditions: [synced('WebhookUnavailable')] }));
    expect(ready.reason).toBe('Starting');
  });
});

describe('the state of the runtime database', () => {
  const down = { database: 'unreachable' as const };

  it('a UserSwarm that was never Ready stays Progressing while the database is unreachable', async () => {
    const { phase, ready, conditions, resyncAfterSeconds } = await statusOf(await settledRequest(userSwarm()), down);
    expect({ phase, reason: ready.reason }).toEqual({ phase: 'Progressing', reason: 'DatabaseUnreachable' });
    expect(conditions.find(({ type }) => type === 'DependenciesReachable')?.status).toBe('False');
    expect(resyncAfterSeconds).toBeGreaterThan(0);
  });

  it('DatabaseUnreachable is the reason only if there is no more specific one', async () => {
    expect((await statusOf(await starting({}), down)).ready.reason).toBe('DatabaseUnreachable');
    const crashing = await starting({ pods: [waiting('CrashLoopBackOff')] });
    expect((await statusOf(crashing, down)).ready.reason).toBe('CrashLoopBackOff');
  });

  it('a database outage does not change the phase of a Ready UserSwarm', async () => {
    const { conditions } = await statusOf(await settledRequest(userSwarm()), { database: 'reachable' });
    const later = await statusOf(await settledRequest(userSwarm(), { conditions }), down);
    expect({ phase: later.phase, ready: later.ready }).toEqual({ phase: 'Ready', ready: conditions[0] });
    const dependencies = later.conditions.find(({ type }) => type === 'DependenciesReachable');
    expect(dependencies).toMatchObject({ status: 'False', reason: 'DatabaseUnreachable' });
    const others = (all: Condition[]) => all.filter(({ type }) => type !== 'DependenciesReachable');
    expect(others(later.conditions)).toEqual(others(conditions));
  });
});

describe('phases other than Ready', () => {
  it('the phase is Suspended immediately, even while a pod is running', async () => {
    const { phase, ready } = await statusOf(await settledRequest(userSwarm({ suspend: true })));
    expect({ phase, status: ready.status, reason: ready.reason }).toEqual({
      phase: 'Suspended',
      status: 'False',
      reason: 'Suspended',
    });
  });

  it('Error takes precedence over Suspended', async () => {
    const spec = { suspend: true, placement: { runtimeNamespace: 'kube-system' } };
    const { phase, conditions } = await statusOf(await settledRequest(userSwarm(spec)));
    expect(phase).toBe('Error');
    expect(conditions.find(({ type }) => type === 'Suspended')?.status).toBe('True');
  });

  describe('a report of the orchestrator that it cannot reach the runtime', () => {
    const reported = (): ReturnType<typeof userSwarm> => {
      const parent = userSwarm();
      parent.metadata.annotations = { 'uswarm.dev/unreachable-since': '2030-01-01T00:00:30.250Z' };
      return parent;
    };
    const ALL = 'The pod is ready, but the orchestrator has not reached the runtime since 2030-01-01T00:00:30Z.';

    it('is the reason of a Ready UserSwarm and the condition Reachable', async () => {
      const { phase, ready, conditions } = await statusOf(await settledRequest(reported()));
      expect({ phase, ready }).toMatchObject({
        phase: 'Ready',
        ready: { status: 'True', reason: 'Unreachable', message: ALL },
      });
      expect(conditions.at(-1)).toMatchObject({
        type: 'Reachable',
        status: 'False',
        reason: 'Unreachable',
        message: ALL,
      });
    });

    it('is not shown when the runtime is not Ready for a cause in Kubernetes, or is reached again', async () => {
      const deployment = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1 };
      for (const request of [settledRequest(reported(), { deployment }), settledRequest(userSwarm())]) {
        const { ready, conditions } = await statusOf(await request);
        expect(ready.reason).not.toBe('Unreachable');
        expect(conditions.map(({ type }) => type)).not.toContain('Reachable');
      }
    });

    it('is ignored if its time is malformed', async () => {
      const parent = reported();
      parent.metadata.annotations = { 'uswarm.dev/unreachable-since': 'yesterday' };
      expect((await statusOf(await settledRequest(parent))).ready.reason).toBe('Available');
    });
  });

  it('Deleting takes precedence over all phases, and the message names the remaining objects', async () => {
    const request = { ...(await settledRequest(userSwarm({ suspend: true }))), finalizing: true };
    const { phase, ready } = await statusOf(request);
    expect({ phase, reason: ready.reason }).toEqual({ phase: 'Deleting', reason: 'Deleting' });
    expect(ready.message).toContain('Deployment userswarms/agent-runtime-workspace-a');
  });

  it('Deleting names the pods while there are any, because they take longest', async () => {
    const settled = await settledRequest(userSwarm(), { pods: [pod({})] });
    const { ready } = await statusOf({ ...settled, finalizing: true });
    expect(ready.message).toBe('Waiting for the deletion of Pod agent-runtime-workspace-a-1.');
  });

  it('Deleting names the finalizers with which other programs keep the UserSwarm, a pod or a child', async () => {
    const settled = await settledRequest(userSwarm(), {
      pods: [pod({}, { metadata: { finalizers: ['a.test/pod'] } })],
    });
    const key = 'userswarms/agent-runtime-workspace-a';
    const service = settled.children['Service.v1'][key]!;
    const metadata = { ...service.metadata, finalizers: ['foregroundDeletion', 'a.test/hold', 'b.test/hold'] };
    const children = { ...settled.children, 'Service.v1': { [key]: { ...service, metadata } } };
    const held = await statusOf({ ...settled, children, finalizing: true });
    expect(held.ready.message).toBe(
      `Waiting for the deletion of Pod agent-runtime-workspace-a-1 (finalizers: a.test/pod), Service ${key} (finalizers: a.test/hold, b.test/hold).`,
    );
    const parent = userSwarm();
    parent.metadata.finalizers = ['metacontroller.io/compositecontroller-userswarm-controller', 'example.com/hold'];
    const { ready } = await statusOf({ ...syncRequest(parent), finalizing: true });
    expect(ready.message).toBe('All objects are deleted. Waits for the finalizers: example.com/hold.');
  });

  it('the phase is Deleting from the deletionTimestamp on, also during garbage collection', async () => {
    const request = await settledRequest(userSwarm());
    const metadata = { ...request.parent.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' };
    const response = render({ ...request, parent: { ...request.parent, metadata } }, testSettings(), await testFacts());
    expect(response.status['phase']).toBe('Deleting');
    expect(response.children).toHaveLength(3);
  });
});
