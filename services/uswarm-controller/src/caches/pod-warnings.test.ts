import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject, ListOptions, Resource } from '@uswarm/kube-client';
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

const event = (reason: string, lastTimestamp: string, count = 1, uid = 'u1'): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: `pod-${uid}.${reason}`, namespace: 'ns' },
  involvedObject: { kind: 'Pod', uid, name: `pod-${uid}` },
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
  let lists: number;
  let found: string[];
  beforeEach(() => {
    events = [];
    listed = [];
    lists = 0;
    found = [];
    warnings = createPodWarnings({
      stuckMs: 5,
      list: async (pods) => {
        listed.push(...pods.map(({ metadata: { name } }) => name));
        lists += 1;
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

  it('are listed together for several pods, each of which gets its own', async () => {
    const uids = Array.from({ length: 20 }, (_, index) => `u${index}`);
    events = uids.map((uid) => event(uid === 'u7' ? 'FailedMount' : 'NetworkNotReady', '2030-01-01T00:00:01Z', 1, uid));
    for (const uid of uids) warnings.changed({ after: pod({ uid }) });
    await eventually(() => found.length === uids.length);
    const reasonsOf = (uid: string): unknown[] => warnings.of(pod({ uid })).map(({ reason }) => reason);
    expect({ u7: reasonsOf('u7'), u8: reasonsOf('u8'), few: lists < uids.length }).toEqual({
      u7: ['FailedMount'],
      u8: ['NetworkNotReady'],
      few: true,
    });
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

describe('listPodWarnings', () => {
  const calls: ListOptions[] = [];
  beforeEach(() => void calls.splice(0));
  const pages = [
    { items: [event('FailedMount', ''), event('FailedMount', '', 1, 'u3')], continueToken: 'more' },
    { items: [event('NetworkNotReady', '', 1, 'u2')], continueToken: undefined },
  ];
  const list = async (_resource: Resource, options: ListOptions) => {
    calls.push(options);
    return { resourceVersion: '1', ...pages[options.continueToken === undefined ? 0 : 1]! };
  };
  const reasonsFor = async (...uids: string[]): Promise<unknown[]> => {
    const pods = uids.map((uid) => pod({ uid }));
    return (await listPodWarnings({ list }, pods, new AbortController().signal)).map(({ reason }) => reason);
  };

  it('selects the Events of a single pod', async () => {
    expect(await reasonsFor('u1')).toEqual(['FailedMount']);
    expect(calls[0]).toMatchObject({ namespace: 'ns', fieldSelector: 'involvedObject.uid=u1,type=Warning' });
  });

  it('reads all pages once for several pods, and returns only their Events', async () => {
    expect(await reasonsFor('u1', 'u2')).toEqual(['FailedMount', 'NetworkNotReady']);
    expect(calls.map(({ fieldSelector, continueToken }) => ({ fieldSelector, continueToken }))).toEqual(
      [undefined, 'more'].map((continueToken) => ({
        fieldSelector: 'involvedObject.kind=Pod,reason!=BackOff,reason!=Unhealthy,type=Warning',
        continueToken,
      })),
    );
  });

  it('sends no request without pods', async () => {
    expect(await reasonsFor()).toEqual([]);
    expect(calls).toEqual([]);
  });
});
