import { describe, expect, it } from '@jest/globals';
import { PHASES, type UserSwarmPhase } from '@uswarm/contract/userswarm';
import type { InternalPhase } from '../../../platform/database/schema.js';
import { isManaged, observe, type StoredUserSwarm } from './userswarm.js';

const LATER = '2026-11-21T10:00:00Z';

function swarm(
  status: Partial<NonNullable<StoredUserSwarm['status']>> | undefined,
  more: { suspend?: boolean; metadata?: Partial<StoredUserSwarm['metadata']> } = {},
): StoredUserSwarm {
  return {
    metadata: { name: 'workspace-w', generation: 2, ...more.metadata },
    spec: {
      userId: 'u',
      placement: { runtimeNamespace: 'runtimes' },
      runtime: { port: 42_618 },
      config: {},
      suspend: more.suspend ?? false,
    },
    ...(status === undefined ? {} : { status: { observedGeneration: 2, ...status } }),
  };
}
const because = (reason: string) => [
  { type: 'Ready' as const, status: 'False' as const, reason, message: '', lastTransitionTime: LATER },
];

describe('the observed state of a UserSwarm', () => {
  it.each<[UserSwarmPhase, InternalPhase]>([
    ['Progressing', 'Progressing'],
    ['Ready', 'Ready'],
    ['Error', 'Error'],
    ['Deleting', 'Deleting'],
    ['Suspended', 'Progressing'],
  ])('phase %s is %s', (phase, expected) => {
    expect(observe(swarm({ phase })).phase).toBe(expected);
  });

  it('has a phase for every phase of the contract', () => {
    expect(PHASES.map((phase) => observe(swarm({ phase })).phase)).not.toContain(undefined);
  });

  it.each([undefined, {}])('is Pending if the status %j has no phase', (status) => {
    expect(observe(swarm(status))).toMatchObject({ phase: 'Pending', reason: '', address: null });
  });

  it.each(['Progressing', 'Error'] as const)('has the reason of the condition Ready in phase %s', (phase) => {
    expect(observe(swarm({ phase, conditions: because('QuotaExceeded') }))).toMatchObject({
      reason: 'QuotaExceeded',
      address: null,
    });
  });

  it('has no reason and the address of the status in phase Ready', () => {
    const ready = swarm({ phase: 'Ready', address: 'http://here:1', conditions: because('Available') });
    expect(observe(ready)).toEqual({ phase: 'Ready', reason: '', address: 'http://here:1', current: true });
  });

  it('has the address of the Service if the status has no address', () => {
    expect(observe(swarm({ phase: 'Ready' })).address).toBe('http://agent-runtime-workspace-w.runtimes.svc:42618');
  });

  it.each<UserSwarmPhase>(['Ready', 'Progressing', 'Error'])(
    'is Suspended immediately while the status is still %s',
    (phase) => {
      expect(observe(swarm({ phase }, { suspend: true }))).toMatchObject({ phase: 'Suspended', address: null });
    },
  );

  it.each([true, false])('is Deleting after the deletion request, with suspend %s', (suspend) => {
    const deleting = swarm({ phase: 'Ready' }, { suspend, metadata: { deletionTimestamp: LATER } });
    expect(observe(deleting)).toMatchObject({ phase: 'Deleting', address: null });
  });

  it.each([
    [2, true],
    [1, false],
    [undefined, false],
  ])('a status of generation %s of 2 is current: %s', (observedGeneration, current) => {
    const status = observedGeneration === undefined ? undefined : { observedGeneration, phase: 'Ready' as const };
    expect(observe(swarm(status)).current).toBe(current);
  });
});

describe('isManaged', () => {
  it.each([
    [{ 'app.kubernetes.io/managed-by': 'uswarm-orchestrator' }, true],
    [{ 'app.kubernetes.io/managed-by': 'Helm' }, false],
    [{}, false],
    [undefined, false],
  ])('is true only with the label of the orchestrator: %j, %s', (labels, expected) => {
    expect(isManaged(swarm({}, { metadata: labels === undefined ? {} : { labels } }))).toBe(expected);
  });
});

describe('the rollout of a pending revision', () => {
  const waits = [
    { type: 'UpToDate' as const, status: 'False' as const, reason: 'x', message: '', lastTransitionTime: LATER },
  ];
  const [WANTED, GRANTED, TIME] = [
    'uswarm.dev/rollout-wanted',
    'uswarm.dev/rollout-revision',
    'uswarm.dev/rollout-time',
  ];
  const shown = (annotations: Record<string, string>, pendingRevision?: string) =>
    observe(
      swarm(
        { phase: 'Ready', ...(pendingRevision === undefined ? {} : { pendingRevision, conditions: waits }) },
        { metadata: { annotations: { [TIME]: LATER, ...annotations } } },
      ),
    ).rollout;

  it.each([
    ['no annotation is set', {}, { requested: false, granted: false }],
    ['it is requested', { [WANTED]: 'r2' }, { requested: true, granted: false }],
    ['it is granted', { [WANTED]: 'r2', [GRANTED]: 'r2' }, { requested: true, granted: true }],
    [
      'request and grant are for another revision',
      { [WANTED]: 'r1', [GRANTED]: 'r1' },
      { requested: false, granted: false },
    ],
    ['the grant is for an older revision', { [WANTED]: 'r2', [GRANTED]: 'r1' }, { requested: true, granted: false }],
    [
      'the grant is older than the pending revision',
      { [WANTED]: 'r2', [GRANTED]: 'r2', [TIME]: '2026-11-21T09:59:59.900Z' },
      { requested: true, granted: false },
    ],
    ['it is no longer requested', { [GRANTED]: 'r2' }, { requested: false, granted: false }],
  ])('is derived correctly if %s', (_case, annotations, expected) => {
    expect(shown(annotations, 'r2')).toEqual(expected);
  });

  it('is undefined if no revision is pending', () => {
    expect(shown({ [WANTED]: 'r2', [GRANTED]: 'r2' })).toBeUndefined();
  });
});
