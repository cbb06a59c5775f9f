import { describe, expect, it } from '@jest/globals';
import { type Condition, REASON_ADVICE, type UserSwarm } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import type { Deployment, Findings, Pod } from './objects.js';
import { createReport } from './create-report.js';
import type { Report } from './report.js';
import { showReport } from './show-report.js';

const NOW = new Date('2026-11-21T10:10:00Z');
const NAME = 'workspace-01998f1c-7a4e-7c3a-9f52-0d6c1b2a3e4f';
const condition = (type: Condition['type'], status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-11-21T10:08:00Z',
  observedGeneration: 2,
});
const swarm = (fields: Partial<UserSwarm> = {}, metadata: object = {}): UserSwarm => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: {
    name: NAME,
    uid: 'u1',
    generation: 2,
    creationTimestamp: '2026-11-21T10:00:00Z',
    finalizers: ['uswarm.dev/userswarm-controller'],
    managedFields: [
      {
        manager: 'uswarm-orchestrator',
        operation: 'Apply',
        time: '2026-11-21T10:00:00Z',
        fieldsV1: { 'f:spec': { 'f:userId': {}, 'f:suspend': {} } },
      },
      {
        manager: 'uswarm-controller',
        operation: 'Update',
        subresource: 'status',
        time: '2026-11-21T10:09:30Z',
        fieldsV1: { 'f:status': {} },
      },
    ],
    ...metadata,
  },
  spec: {
    userId: 'ada',
    placement: { runtimeNamespace: 'userswarms' },
    runtime: { port: 42_618 },
    config: {},
    suspend: false,
  },
  status: {
    observedGeneration: 2,
    phase: 'Ready',
    conditions: [
      condition('Ready', 'True', 'Available', 'The runtime answers.'),
      condition('Synced', 'True', 'Synced'),
    ],
  },
  ...fields,
});
const failing = (
  phase: 'Progressing' | 'Error',
  reason: string,
  message: string,
  synced = condition('Synced', 'True', 'Synced'),
) =>
  swarm({
    status: { observedGeneration: 2, phase, conditions: [condition('Ready', 'False', reason, message), synced] },
  });

const workload = (component: string, readyReplicas = 1): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: `uswarm-${component}`,
    namespace: 'backend',
    labels: { 'app.kubernetes.io/component': component },
  },
  spec: { replicas: 1 },
  status: { readyReplicas },
});
const findings = (over: Partial<Findings> = {}): Findings => ({
  swarm: swarm(),
  serviceAccount: undefined,
  service: undefined,
  deployment: undefined,
  replicaSets: [],
  pods: [],
  events: [],
  quotas: [],
  platform: [workload('controller'), workload('webhook')],
  composite: undefined,
  lease: undefined,
  unreadable: [],
  ...over,
});
const report = (over: Partial<Findings> = {}): Report => createReport(findings(over), NOW);

const pullingPod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'agent-runtime-x-1', namespace: 'userswarms', creationTimestamp: '2026-11-21T10:00:05Z' },
  spec: { nodeName: 'node-1' },
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'True', reason: '', message: '' }],
    containerStatuses: [
      {
        name: 'agent-runtime',
        ready: false,
        restartCount: 0,
        state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "r/x:1"' } },
      },
    ],
  },
};

describe('the section Sync of uswarmctl explain', () => {
  const by = (manager: string, time: string, subresource?: string) => ({ manager, time, subresource });
  const child = (...managedFields: object[]): Deployment => ({
    ...workload('runtime'),
    metadata: { name: 'agent-runtime-x', managedFields } as Deployment['metadata'],
  });

  it('shows the last write of the controller to a child and ignores other field managers', () => {
    const deployment = child(
      by('uswarm-controller', '2026-11-21T10:02:00Z'),
      by('kube-controller-manager', '2026-11-21T10:09:59Z', 'status'),
    );
    const service = child(by('uswarm-controller', '2026-11-21T10:01:00Z'), by('kubectl', '2026-11-21T10:09:00Z'));
    const { sync } = report({ deployment, service });
    expect(sync).toMatchObject({ children_written_s_ago: 480, status_written_s_ago: 30 });
    const text = showReport(report({ deployment, service }));
    expect(text).toMatch(
      /children: synced, since 2m\n +children last written: 8m ago\n +status last written: 30s ago\n/,
    );
  });

  it('shows "never" without children', () => {
    expect(report().sync.children_written_s_ago).toBeNull();
    expect(showReport(report())).toContain('children last written: never');
  });

  it('does not mention children with Metacontroller, which does not report their writes', () => {
    const composite = child();
    expect(showReport(report({ platform: [workload('webhook')], composite }))).not.toContain('children');
  });
});

describe('the recommended actions of uswarmctl explain', () => {
  it('are empty for an available runtime', () => {
    expect(report().next).toEqual(['Nothing.']);
  });

  it.each(Object.entries(REASON_ADVICE).filter(([reason]) => reason !== 'Available'))(
    'are the documented advice for %s',
    (reason, { cause, advice }) => {
      const { next } = report({ swarm: failing('Progressing', reason, 'm') });
      expect(next[0]).toBe(`${reason}: ${cause} ${advice}`);
    },
  );

  it('include the reason of the last write if it failed for another reason', () => {
    const synced = condition('Synced', 'False', 'WebhookUnavailable', 'the webhook is unreachable');
    const { next } = report({ swarm: failing('Progressing', 'Starting', 'm', synced) });
    expect(next.map((step) => step.split(':')[0])).toEqual(['Starting', 'WebhookUnavailable']);
  });

  it('include a missing controller or webhook', () => {
    const down = report({ platform: [workload('controller', 0), workload('webhook', 0)] });
    expect(down.next).toEqual([
      expect.stringMatching(/^Deployment backend\/uswarm-controller has no ready pod/),
      expect.stringMatching(/^Deployment backend\/uswarm-webhook has no ready pod/),
    ]);
    expect(report({ platform: [] }).next).toContainEqual(expect.stringMatching(/^No controller manages/));
  });

  it('start with NotYetSynced for a UserSwarm without a status', () => {
    const { status: _status, ...bare } = swarm();
    const { phase, next } = report({ swarm: bare });
    expect({ phase, first: next[0] }).toEqual({ phase: 'Pending', first: expect.stringMatching(/^NotYetSynced: /) });
  });

  it('include an exhausted quota and an outdated status', () => {
    const { next, exhausted, outdated } = report({
      swarm: swarm({}, { generation: 3 }),
      quotas: [
        {
          apiVersion: 'v1',
          kind: 'ResourceQuota',
          metadata: { name: 'team' },
          status: { hard: { pods: '5', 'limits.memory': '4Gi' }, used: { pods: '5', 'limits.memory': '1Gi' } },
        },
      ],
    });
    expect(exhausted).toEqual([{ quota: 'team', resource: 'pods', used: '5', hard: '5' }]);
    expect(outdated).toBe(true);
    expect(next).toEqual([
      expect.stringContaining('status is outdated'),
      'ResourceQuota team of namespace userswarms is exhausted: 5 of pods.',
    ]);
  });

  it.each([
    { resource: 'limits.cpu', used: '1', hard: '1000m', isExhausted: true },
    { resource: 'limits.memory', used: '1024Mi', hard: '1Gi', isExhausted: true },
    { resource: 'limits.memory', used: '1G', hard: '1Gi', isExhausted: false },
    { resource: 'pods', used: '6', hard: '5', isExhausted: true },
    { resource: 'pods', used: '9', hard: '10', isExhausted: false },
    { resource: 'pods', used: undefined, hard: '5', isExhausted: false },
  ])('compare $used of $hard $resource as quantities', ({ resource, used, hard, isExhausted }) => {
    const status = { hard: { [resource]: hard }, used: used === undefined ? {} : { [resource]: used } };
    const { exhausted } = report({
      quotas: [{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'team' }, status }],
    });
    expect(exhausted).toEqual(isExhausted ? [{ quota: 'team', resource, used, hard }] : []);
  });

  it('refer to the message for an unknown reason', () => {
    expect(report({ swarm: failing('Progressing', 'Queued2', 'm') }).next).toEqual([
      expect.stringMatching(/^Queued2: unknown to this version of uswarmctl/),
    ]);
  });
});

describe('the report about a suspended runtime', () => {
  const suspended = (managers: { manager: string; time: string }[]): UserSwarm =>
    swarm(
      {
        spec: { ...swarm().spec, suspend: true },
        status: { observedGeneration: 2, phase: 'Suspended', conditions: [condition('Ready', 'False', 'Suspended')] },
      },
      { managedFields: managers.map((each) => ({ ...each, fieldsV1: { 'f:spec': { 'f:suspend': {} } } })) },
    );

  it('states that it is idle if the orchestrator suspended it', () => {
    const { suspended: found, next } = report({
      swarm: suspended([{ manager: 'uswarm-orchestrator', time: '2026-11-21T10:05:00Z' }]),
    });
    expect(found).toEqual({ by: 'uswarm-orchestrator', hold: false, age_s: 300 });
    expect(next).toContainEqual(expect.stringMatching(/because it was idle/));
  });

  it('names the field manager that holds it', () => {
    const both = [
      { manager: 'uswarm-orchestrator', time: '2026-11-21T10:00:00Z' },
      { manager: 'kubectl-patch', time: '2026-11-21T10:09:00Z' },
    ];
    const { suspended: found, next } = report({ swarm: suspended(both) });
    expect(found).toEqual({ by: 'kubectl-patch', hold: true, age_s: 60 });
    expect(next).toContainEqual(expect.stringMatching(/^Held: "kubectl-patch"/));
  });
});

describe('the report about a UserSwarm that is being deleted', () => {
  it('lists the remaining children and the finalizers', () => {
    const leaving = swarm(
      { status: { observedGeneration: 2, phase: 'Deleting', conditions: [condition('Ready', 'False', 'Deleting')] } },
      {
        deletionTimestamp: '2026-11-21T10:06:00Z',
        finalizers: ['uswarm.dev/userswarm-controller', 'example.com/backup'],
      },
    );
    const service: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's', finalizers: ['example.com/lb'] },
    };
    const { deletion, next } = report({ swarm: leaving, service, pods: [pullingPod] });
    expect(deletion).toMatchObject({
      age_s: 240,
      children: ['Service s (finalizers: example.com/lb)', 'Pod agent-runtime-x-1'],
    });
    expect(next).toEqual([
      expect.stringMatching(/^Deleting: /),
      'The deletion waits for: Service s (finalizers: example.com/lb); Pod agent-runtime-x-1.',
      'Finalizers of other controllers block the deletion: example.com/backup.',
    ]);
  });
});

describe('the text report', () => {
  const shown = (over: Partial<Findings> = {}): string => showReport(report(over));

  it('shows the reason, pods, Events and recommended actions', () => {
    const event = { apiVersion: 'v1', kind: 'Event', metadata: { name: 'e' } };
    const text = shown({
      swarm: failing('Progressing', 'ImagePullBackOff', 'The image r/x:1 cannot be pulled.'),
      pods: [pullingPod],
      events: [
        { ...event, type: 'Normal', reason: 'Older', message: 'o', lastTimestamp: '2026-11-21T10:01:00Z' },
        {
          ...event,
          type: 'Warning',
          reason: 'Failed',
          message: 'Error: ErrImagePull',
          count: 4,
          lastTimestamp: '2026-11-21T10:09:00Z',
          involvedObject: { kind: 'Pod', name: 'agent-runtime-x-1' },
        },
      ],
    });
    expect(text.split('\n').slice(0, 3)).toEqual([
      NAME,
      '  phase       Progressing (ImagePullBackOff)',
      '  message     The image r/x:1 cannot be pulled.',
    ]);
    expect(text).toContain(
      `- ImagePullBackOff: ${REASON_ADVICE.ImagePullBackOff.cause} ${REASON_ADVICE.ImagePullBackOff.advice}`,
    );
    expect(text).toContain('agent-runtime: ImagePullBackOff: Back-off pulling image "r/x:1", not ready, 0 restarts');
    expect(text).toContain('60s  Warning  Failed  Pod agent-runtime-x-1  (4 times) Error: ErrImagePull');
    expect(text.indexOf('Failed')).toBeLessThan(text.indexOf('Older'));
    expect(text).toContain('status last written: 30s ago');
  });

  it('shows the restarts and the last termination of a container', () => {
    const [container] = pullingPod.status!.containerStatuses!;
    const crashed: Pod = {
      ...pullingPod,
      status: {
        phase: 'Running',
        containerStatuses: [
          {
            ...container!,
            restartCount: 7,
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: { reason: 'Error', exitCode: 3, finishedAt: '2026-11-21T10:09:20Z' } },
          },
        ],
      },
    };
    expect(shown({ pods: [crashed] })).toContain(
      'CrashLoopBackOff, not ready, 7 restarts; last termination: Error, exit code 3, 40 s ago',
    );
  });

  it('contains no control characters', () => {
    const evil = '\u001b[2Jx\u202e';
    const text = shown({ swarm: failing('Error', 'InvalidSpec', evil), unreadable: [{ what: 'Pods', why: evil }] });
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});
