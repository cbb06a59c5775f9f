import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-client';
import { eventually } from '@uswarm/testkit/eventually';
import { createPodWarnings, isStuck, listPodWarnings, type PodWarnings } from './pod-warnings.js';

interface Look {
  uid?: string;
  nodeName?: string | undefined;
  phase?: string;
  sandbox?: string;
  deletionTimestamp?: string;
}

/** A pod without a sandbox, as the kubelet writes it. */
function pod({ uid = 'u1', phase = 'Pending', sandbox = 'False', deletionTimestamp, ...look }: Look = {}) {
  const nodeName = 'nodeName' in look ? look.nodeName : 'node-1';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `pod-${uid}`,
      namespace: 'ns',
      uid,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec: nodeName === undefined ? {} : { nodeName },
    status: { phase, conditions: [{ type: 'PodReadyToStartContainers', status: sandbox }] },
  } as KubernetesObject;
}

const event = (reason: string, lastTimestamp: string, count = 1): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: `pod-u1.${reason}`, namespace: 'ns' },
  involvedObject: { kind: 'Pod', uid: 'u1', name: 'pod-u1' },
  type: 'Warning',
  reason,
  message: `text of ${reason}`,
  lastTimestamp,
  count,
});

describe('a pod is stuck', () => {
  it.each<[what: string, look: Look, stuck: boolean]>([
    ['if it has a node and no sandbox', {}, true],
    ['not before it has a node', { nodeName: undefined }, false],
    ['not once it has a sandbox', { sandbox: 'True' }, false],
    ['not once it runs', { phase: 'Running' }, false],
    ['not while it is deleted', { deletionTimestamp: '2030-01-01T00:00:00Z' }, false],
  ])('%s', (_what, look, stuck) => {
    expect(isStuck(pod(look))).toBe(stuck);
  });
});

describe('the Events of stuck pods', () => {
  let warnings: PodWarnings;
  let events: KubernetesObject[];
  let listed: string[];
  let found: string[];
  beforeEach(() => {
    events = [];
    listed = [];
    found = [];
    warnings = createPodWarnings({
      list: async ({ metadata: { name } }) => {
        listed.push(name);
        if (events.length === 0) throw new Error('may not be listed');
        return events;
      },
      onFound: ({ metadata: { name } }) => void found.push(name),
      periodMs: 5,
      pauseMs: 1,
    });
  });
  afterEach(() => warnings.stop());
  const reasons = (): unknown[] => warnings.of(pod()).map(({ reason }) => reason);
  const listedTimes = (times: number): Promise<unknown> => eventually(() => listed.length >= times);

  it('are listed while the pod is stuck, also after a failed list, and reported once', async () => {
    warnings.changed({ after: pod() });
    await listedTimes(2);
    events = [event('FailedMount', '2030-01-01T00:00:01Z')];
    await eventually(() => found.length > 0);
    events = [event('FailedMount', '2030-01-01T00:00:09Z', 7)];
    await listedTimes(listed.length + 2);
    expect({ found, reasons: reasons() }).toEqual({ found: ['pod-u1'], reasons: ['FailedMount'] });
  });

  it('are those with the cause, newest first', async () => {
    events = [
      event('FailedMount', '2030-01-01T00:00:01Z'),
      event('Unhealthy', '2030-01-01T00:00:03Z'),
      event('FailedCreatePodSandBox', '2030-01-01T00:00:02Z'),
    ];
    warnings.changed({ after: pod() });
    await eventually(() => reasons().length > 0);
    expect(reasons()).toEqual(['FailedCreatePodSandBox', 'FailedMount']);
  });

  it('are listed for each of several pods', async () => {
    for (const uid of ['u1', 'u2', 'u3']) warnings.changed({ after: pod({ uid }) });
    await eventually(() => new Set(listed).size === 3);
    expect(new Set(listed)).toEqual(new Set(['pod-u1', 'pod-u2', 'pod-u3']));
  });

  it('are not listed for a pod that gets its sandbox in time, and dropped when it gets it later', async () => {
    events = [event('FailedMount', '2030-01-01T00:00:01Z')];
    warnings.changed({ after: pod({ uid: 'u2' }) });
    warnings.changed({ before: pod({ uid: 'u2' }), after: pod({ uid: 'u2', sandbox: 'True' }) });
    warnings.changed({ after: pod() });
    await eventually(() => reasons().length > 0);
    warnings.changed({ before: pod(), after: pod({ sandbox: 'True' }) });
    expect({ reasons: reasons(), others: listed.filter((name) => name !== 'pod-u1') }).toEqual({
      reasons: [],
      others: [],
    });
  });
});

it('are listed for one pod only and not for the whole namespace', async () => {
  const calls: unknown[] = [];
  const list = async (...args: unknown[]) => {
    calls.push(args.slice(0, 2));
    return { items: [event('FailedMount', '')], resourceVersion: '1', continueToken: undefined };
  };
  const found = await listPodWarnings({ list }, pod(), new AbortController().signal);
  expect(found.map(({ reason }) => reason)).toEqual(['FailedMount']);
  expect(calls).toEqual([
    [
      expect.objectContaining({ plural: 'events' }),
      { namespace: 'ns', fieldSelector: 'involvedObject.uid=u1,type=Warning', limit: 50 },
    ],
  ]);
});
