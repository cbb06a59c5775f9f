import { describe, expect, it } from '@jest/globals';
import { type Condition, type KubernetesObject, REASON_ADVICE, type UserSwarm } from '@uswarm/contract/userswarm';
import type { Deployment, Findings, Pod } from './objects.js';
import { makeReport } from './make-report.js';
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
const unwell = (
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
  pods: [],
  events: [],
  quotas: [],
  platform: [workload('controller'), workload('webhook')],
  composite: undefined,
  lease: undefined,
  unreadable: [],
  ...over,
});
const report = (over: Partial<Findings> = {}): Report => makeReport(findings(over), NOW);

/** As a kubelet writes it. */
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

describe('what uswarmctl explain says of syncs', () => {
  const by = (manager: string, time: string, subresource?: string) => ({ manager, time, subresource });
  const child = (...managedFields: object[]): Deployment => ({
    ...workload('runtime'),
    metadata: { name: 'agent-runtime-x', managedFields } as Deployment['metadata'],
  });

  it('is when the controller last wrote a child, whoever else wrote it since', () => {
    const deployment = child(
      by('uswarm-controller', '2026-11-21T10:02:00Z'),
      by('kube-controller-manager', '2026-11-21T10:09:59Z', 'status'),
    );
    const service = child(by('uswarm-controller', '2026-11-21T10:01:00Z'), by('kubectl', '2026-11-21T10:09:00Z'));
    const { sync } = report({ deployment, service });
    expect([sync.children_written_s_ago, sync.status_written_s_ago]).toEqual([480, 30]);
    const text = showReport(report({ deployment, service }));
    expect(text).toMatch(
      /children: in order, since 2m\n +children last written: 8m ago\n +status last written: 30s ago\n/,
    );
  });

  it('is "never" where there are no children', () => {
    expect(report().sync.children_written_s_ago).toBeNull();
    expect(showReport(report())).toContain('children last written: never');
  });

  it('is nothing about children with Metacontroller, which tells nothing', () => {
    const composite = child();
    expect(showReport(report({ platform: [workload('webhook')], composite }))).not.toContain('children');
  });
});

describe('what uswarmctl explain says to do', () => {
  it('is nothing while all is well', () => {
    expect(report().next).toEqual(['Nothing.']);
  });

  it.each(Object.entries(REASON_ADVICE).filter(([reason]) => reason !== 'Available'))(
    'for %s is what the documents say',
    (reason, { cause, advice }) => {
      const { next } = report({ swarm: unwell('Progressing', reason, 'm') });
      expect(next[0]).toBe(`${reason}: ${cause} ${advice}`);
    },
  );

  it('names the reason of the last write, where that failed for another', () => {
    const synced = condition('Synced', 'False', 'WebhookUnavailable', 'the webhook did not answer');
    const { next } = report({ swarm: unwell('Progressing', 'Starting', 'm', synced) });
    expect(next.map((step) => step.split(':')[0])).toEqual(['Starting', 'WebhookUnavailable']);
  });

  it('points out a controller or webhook that is not there', () => {
    const down = report({ platform: [workload('controller', 0), workload('webhook', 0)] });
    expect(down.next).toEqual([
      expect.stringMatching(/^Deployment backend\/uswarm-controller has no ready pod/),
      expect.stringMatching(/^Deployment backend\/uswarm-webhook has no ready pod/),
    ]);
    expect(report({ platform: [] }).next).toContainEqual(expect.stringMatching(/^No controller looks after/));
  });

  it('begins with the controller for a UserSwarm without a status', () => {
    const { status: _status, ...bare } = swarm();
    const { phase, next } = report({ swarm: bare });
    expect([phase, next[0]]).toEqual(['Pending', expect.stringMatching(/^NotYetSynced: /)]);
  });

  it('names the quota that is used up, and a status that is out of date', () => {
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
      expect.stringContaining('about an older spec'),
      'ResourceQuota team of namespace userswarms is used up: 5 of pods.',
    ]);
  });

  it('is to read on, for a reason of a newer version', () => {
    expect(report({ swarm: unwell('Progressing', 'Queued2', 'm') }).next).toEqual([
      expect.stringMatching(/^Queued2: this version of uswarmctl does not know it/),
    ]);
  });
});

describe('a suspended runtime', () => {
  const suspended = (managers: { manager: string; time: string }[]): UserSwarm =>
    swarm(
      {
        spec: { ...swarm().spec, suspend: true },
        status: { observedGeneration: 2, phase: 'Suspended', conditions: [condition('Ready', 'False', 'Suspended')] },
      },
      { managedFields: managers.map((each) => ({ ...each, fieldsV1: { 'f:spec': { 'f:suspend': {} } } })) },
    );

  it('is idle when the orchestrator suspended it', () => {
    const { suspended: found, next } = report({
      swarm: suspended([{ manager: 'uswarm-orchestrator', time: '2026-11-21T10:05:00Z' }]),
    });
    expect(found).toEqual({ by: 'uswarm-orchestrator', hold: false, age_s: 300 });
    expect(next).toContainEqual(expect.stringMatching(/because it was idle/));
  });

  it('is held when somebody else did, who is named', () => {
    const both = [
      { manager: 'uswarm-orchestrator', time: '2026-11-21T10:00:00Z' },
      { manager: 'kubectl-patch', time: '2026-11-21T10:09:00Z' },
    ];
    const { suspended: found, next } = report({ swarm: suspended(both) });
    expect(found).toEqual({ by: 'kubectl-patch', hold: true, age_s: 60 });
    expect(next).toContainEqual(expect.stringMatching(/^It is held: "kubectl-patch"/));
  });
});

describe('a UserSwarm on its way out', () => {
  it('shows what it waits for, and whose finalizers are left', () => {
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
      'It waits for: Service s (finalizers: example.com/lb); Pod agent-runtime-x-1.',
      'Others hold it by their finalizers: example.com/backup.',
    ]);
  });
});

describe('the report for people', () => {
  const shown = (over: Partial<Findings> = {}): string => showReport(report(over));

  it('shows cause, pod, Events and what to do in one look', () => {
    const event = { apiVersion: 'v1', kind: 'Event', metadata: { name: 'e' } };
    const text = shown({
      swarm: unwell('Progressing', 'ImagePullBackOff', 'The image r/x:1 cannot be pulled.'),
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

  it('shows how often a container was restarted, and how it ended last', () => {
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
      'CrashLoopBackOff, not ready, 7 restarts; last ended: Error, exit code 3, 40 s ago',
    );
  });

  it('shows nothing that steers a terminal', () => {
    const evil = '\u001b[2Jx\u202e';
    const text = shown({ swarm: unwell('Error', 'InvalidSpec', evil), unreadable: [{ what: 'its pods', why: evil }] });
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});
