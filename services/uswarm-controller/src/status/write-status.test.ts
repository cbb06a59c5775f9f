import { beforeEach, describe, expect, it } from '@jest/globals';
import { createStore, KubeError, type KubernetesObject } from '@uswarm/kube-client';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { writeStatus } from './write-status.js';

const never = new AbortController().signal;
const userSwarm = (status?: object, resourceVersion = '1'): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name: 'w', uid: 'u', resourceVersion },
  spec: { userId: 'x' },
  ...(status === undefined ? {} : { status }),
});

describe('writing the status', () => {
  let sent: KubernetesObject[];
  let parents: ReturnType<typeof createStore>;
  let now: number;
  let answer: () => KubernetesObject;
  const deps = () => ({
    resource: USERSWARMS,
    parents,
    elapsed: () => now,
    client: {
      get: async () => userSwarm({ phase: 'Newest' }, '9'),
      replace: async (_resource: unknown, object: KubernetesObject) => {
        sent.push(object);
        return answer();
      },
    },
  });
  beforeEach(() => {
    sent = [];
    now = 0;
    parents = createStore();
    answer = () => userSwarm({ phase: 'Ready' }, '2');
  });

  it('replaces the status at the observed version and stores the response', async () => {
    const done = await writeStatus(deps(), userSwarm(), { phase: 'Ready' }, undefined, never);
    expect(done?.written).toBe(true);
    expect(sent).toEqual([
      {
        apiVersion: 'uswarm.dev/v1alpha1',
        kind: 'UserSwarm',
        metadata: { name: 'w', uid: 'u', resourceVersion: '1' },
        status: { phase: 'Ready' },
      },
    ]);
    expect(parents.get('w')?.metadata.resourceVersion).toBe('2');
  });

  it('includes labels, annotations and finalizers, which would otherwise be removed', async () => {
    const marks = { labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['e'] };
    const managedFields = [{ manager: 'kubectl' }];
    const stored = { ...userSwarm(), metadata: { ...userSwarm().metadata, ...marks, managedFields } };
    await writeStatus(deps(), stored, { phase: 'Ready' }, undefined, never);
    expect(sent[0]?.metadata).toEqual({ ...userSwarm().metadata, ...marks });
  });

  it('writes nothing for an equal status in any key order', async () => {
    const stored = userSwarm({ phase: 'Ready', image: 'i' });
    expect(await writeStatus(deps(), stored, { image: 'i', phase: 'Ready' }, undefined, never)).toMatchObject({
      written: false,
    });
    expect(await writeStatus(deps(), userSwarm(), {}, undefined, never)).toMatchObject({ written: false });
    expect(sent).toEqual([]);
  });

  it('does not repeat a write for a field that the schema prunes', async () => {
    const wanted = { phase: 'Ready', unknown: 1 };
    const first = await writeStatus(deps(), userSwarm(), wanted, undefined, never);
    const second = await writeStatus(deps(), userSwarm({ phase: 'Ready' }, '2'), wanted, first?.sent, never);
    expect(second?.written).toBe(false);
    now += 60_000;
    expect(await writeStatus(deps(), userSwarm({ phase: 'Odd' }, '3'), wanted, second?.sent, never)).toMatchObject({
      written: true,
    });
  });

  it('backs off when another client overwrites the status, and resets after a while', async () => {
    const write = (memory?: Written) =>
      writeStatus(deps(), userSwarm({ phase: 'Odd' }), { phase: 'Ready' }, memory, never);
    type Written = NonNullable<Awaited<ReturnType<typeof writeStatus>>>['sent'];
    let memory: Written;
    const times: number[] = [];
    const due = new Set<number>();
    for (; now < 60_000; now += 50) {
      const done = await write(memory);
      memory = done?.sent;
      if (done?.written === true) times.push(now);
      else due.add(now + (done?.waitMs ?? 0));
    }
    expect(times.slice(0, 7)).toEqual([0, 200, 600, 1_400, 3_000, 6_200, 12_600]);
    expect(times.at(-1)! - times.at(-2)!).toBe(10_000);
    // Each delayed write reports when it is due.
    expect([...due].slice(0, -1)).toEqual(times.slice(1));
    now += 20_000;
    memory = (await write(memory))?.sent;
    now += 200;
    expect(await write(memory)).toMatchObject({ written: true });
  });

  it('writes its own changed status without back-off', async () => {
    const first = await writeStatus(deps(), userSwarm(), { phase: 'Ready' }, undefined, never);
    const mine = userSwarm({ phase: 'Ready' }, '2');
    expect(await writeStatus(deps(), mine, { phase: 'Suspended' }, first?.sent, never)).toMatchObject({
      written: true,
    });
  });

  it('fetches the newest version after a conflict', async () => {
    answer = () => {
      throw new KubeError(409, { reason: 'Conflict' });
    };
    expect(await writeStatus(deps(), userSwarm(), { phase: 'Ready' }, undefined, never)).toBeUndefined();
    expect(parents.get('w')).toMatchObject({ status: { phase: 'Newest' } });
  });
});
