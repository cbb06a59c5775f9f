import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-client';
import { Registry } from '@uswarm/service-kit';
import { countFailing, countStuck, oldestAges, registerUserSwarms } from './userswarm-metrics.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1_000).toISOString();

const userSwarm = (
  phase: string | undefined,
  reason: string,
  notReadyFor: number,
  more: object = {},
): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name: 'workspace-a', creationTimestamp: ago(5_000), ...more },
  status: {
    ...(phase === undefined ? {} : { phase }),
    conditions: [
      {
        type: 'Ready',
        status: phase === 'Ready' ? 'True' : 'False',
        reason,
        message: '',
        lastTransitionTime: ago(notReadyFor),
      },
    ],
  },
});

describe('the age of UserSwarms', () => {
  it('is that of the oldest UserSwarm in each transient phase since it lost readiness', () => {
    const all = [
      userSwarm('Progressing', 'Starting', 30),
      userSwarm('Progressing', 'Starting', 700),
      userSwarm('Error', 'InvalidSpec', 60),
      userSwarm('Ready', 'Available', 9_000),
      userSwarm('Suspended', 'Suspended', 9_000),
    ];
    expect(Object.fromEntries(oldestAges(all, NOW))).toEqual({ Progressing: 700, Error: 60, Deleting: 0 });
  });

  it('counts from the deletion of a terminating UserSwarm', () => {
    const deleted = userSwarm('Deleting', 'Deleting', 4_000, { deletionTimestamp: ago(45) });
    expect(oldestAges([deleted], NOW).get('Deleting')).toBe(45);
  });

  it('counts from the creation without conditions', () => {
    const fresh = { ...userSwarm('Progressing', '', 0), status: { phase: 'Progressing' } };
    expect(oldestAges([fresh], NOW).get('Progressing')).toBe(5_000);
  });
});

it('counts stuck UserSwarms', () => {
  const all = [
    userSwarm('Progressing', 'ImagePullBackOff', 90_000),
    userSwarm('Progressing', 'Starting', 601),
    userSwarm('Progressing', 'Starting', 599),
    userSwarm('Deleting', 'Deleting', 4_000, { deletionTimestamp: ago(901) }),
    userSwarm('Deleting', 'Deleting', 4_000, { deletionTimestamp: ago(60) }),
    userSwarm('Suspended', 'Suspended', 90_000),
  ];
  expect(Object.fromEntries(countStuck(all, NOW))).toEqual({ Progressing: 2, Deleting: 1 });
});

it('does not count a UserSwarm that was just resumed as stuck', () => {
  const resumed = userSwarm('Progressing', 'Starting', 90_000);
  const status = resumed['status'] as { conditions: object[] };
  const condition = { type: 'Suspended', status: 'False', reason: 'Running', message: '', lastTransitionTime: ago(5) };
  const all = [{ ...resumed, status: { ...status, conditions: [...status.conditions, condition] } }];
  expect(countStuck(all, NOW).get('Progressing')).toBe(0);
  expect(oldestAges(all, NOW).get('Progressing')).toBe(5);
});

it.each(['Forbidden', 'ApplyFailed', 'QuotaExceeded'])(
  'a UserSwarm that is refused counts as failing: %s',
  (reason) => {
    expect(countFailing([userSwarm('Progressing', reason, 1)]).get(reason)).toBe(1);
  },
);

it('counts UserSwarms by known causes only', () => {
  const counts = countFailing([
    userSwarm('Progressing', 'ImagePullBackOff', 1),
    userSwarm('Progressing', 'ImagePullBackOff', 1),
    userSwarm('Progressing', 'Starting', 1),
    userSwarm('Error', 'PolicyDenied', 1),
    userSwarm('Error', 'SomethingMadeUp', 1),
    userSwarm('Ready', 'ImagePullBackOff', 1),
  ]);
  expect([...counts].filter(([, count]) => count > 0)).toEqual([
    ['PolicyDenied', 1],
    ['ImagePullBackOff', 2],
  ]);
  expect(counts.get('CrashLoopBackOff')).toBe(0);
});

it('reads the metrics of UserSwarms at each scrape', async () => {
  const registry = new Registry();
  const all: KubernetesObject[] = [];
  registerUserSwarms(registry, { list: () => all, synced: () => all.length > 0, clock: { now: () => NOW } });
  const before = await registry.metrics();
  expect(before).toContain('uswarm_controller_caches_synced 0');
  expect(before).toContain('uswarm_userswarms_oldest_seconds{phase="Progressing"} 0');
  all.push(userSwarm('Progressing', 'OOMKilled', 90));
  const after = await registry.metrics();
  for (const line of [
    'uswarm_controller_caches_synced 1',
    'uswarm_userswarms_oldest_seconds{phase="Progressing"} 90',
    'uswarm_userswarms_stuck{phase="Progressing"} 0',
    'uswarm_userswarms_failing{reason="OOMKilled"} 1',
  ]) {
    expect(after).toContain(`${line}\n`);
  }
});
