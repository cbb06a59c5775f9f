import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/contract/userswarm';
import { createStore, KubeError } from '@uswarm/kube-client';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { writeStatus } from './write-status.js';

const never = new AbortController().signal;
const swarm = (status?: object, resourceVersion = '1'): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name: 'w', uid: 'u', resourceVersion },
  spec: { userId: 'x' },
  ...(status === undefined ? {} : { status }),
});

describe('writing the status', () => {
  let sent: KubernetesObject[];
  let parents: ReturnType<typeof createStore>;
  let answer: () => KubernetesObject;
  const deps = () => ({
    resource: USERSWARMS,
    parents,
    client: {
      get: async () => swarm({ phase: 'Newest' }, '9'),
      replace: async (_resource: unknown, object: KubernetesObject) => {
        sent.push(object);
        return answer();
      },
    },
  });
  beforeEach(() => {
    sent = [];
    parents = createStore();
    answer = () => swarm({ phase: 'Ready' }, '2');
  });

  it('replaces it, at the version that was read, and shows what came back', async () => {
    const done = await writeStatus(deps(), swarm(), { phase: 'Ready' }, undefined, never);
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

  it('writes nothing when nothing differs, whatever the order of the fields', async () => {
    const stored = swarm({ phase: 'Ready', image: 'i' });
    expect(await writeStatus(deps(), stored, { image: 'i', phase: 'Ready' }, undefined, never)).toMatchObject({
      written: false,
    });
    expect(await writeStatus(deps(), swarm(), {}, undefined, never)).toMatchObject({ written: false });
    expect(sent).toEqual([]);
  });

  it('does not write again and again what the schema does not keep', async () => {
    const wanted = { phase: 'Ready', unknown: 1 };
    const first = await writeStatus(deps(), swarm(), wanted, undefined, never);
    const second = await writeStatus(deps(), swarm({ phase: 'Ready' }, '2'), wanted, first?.sent, never);
    expect(second?.written).toBe(false);
    expect(await writeStatus(deps(), swarm({ phase: 'Odd' }, '3'), wanted, second?.sent, never)).toMatchObject({
      written: true,
    });
  });

  it('fetches the newest when somebody wrote in between', async () => {
    answer = () => {
      throw new KubeError(409, { reason: 'Conflict' });
    };
    expect(await writeStatus(deps(), swarm(), { phase: 'Ready' }, undefined, never)).toBeUndefined();
    expect(parents.get('w')).toMatchObject({ status: { phase: 'Newest' } });
  });
});
