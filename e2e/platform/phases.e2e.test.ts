import { HttpMethod } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CONDITIONS } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import {
  childrenDeleted,
  conditionOf,
  NAMESPACE,
  openSession,
  pathOf,
  phasesSeen,
  readyCondition,
  type Session,
  shows,
} from '../support/index.js';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

const phasesOf = (name: string, from = 0): string[] => phasesSeen(session.swarms.history(name).slice(from));

const podsOf = async (name: string) => (await session.children(name)).pods;

describe('a UserSwarm that is created and changed', () => {
  let name: string;
  beforeAll(async () => {
    name = await session.create();
    await session.ready(name);
  });

  it('PHASE-001 PHASE-002: is Progressing while its children are created, then Ready', () => {
    expect(phasesOf(name)).toEqual(['Progressing', 'Ready']);
  });

  it('PHASE-002: is Ready while its Deployment has a ready replica, in every condition', async () => {
    const { metadata, status } = session.swarms.current(name)!;
    const { deployment } = await session.children(name);
    expect(deployment?.status?.readyReplicas).toBe(1);
    expect(status?.observedGeneration).toBe(metadata.generation);
    const summary = (status?.conditions ?? []).map(({ type, status: state, observedGeneration }) => [
      type,
      state,
      observedGeneration,
    ]);
    expect(summary).toEqual([
      ['Ready', 'True', metadata.generation],
      ['ConfigValid', 'True', metadata.generation],
      ['DependenciesReachable', 'True', metadata.generation],
      ['RuntimeAvailable', 'True', metadata.generation],
      ['Suspended', 'False', metadata.generation],
      ['UpToDate', 'True', metadata.generation],
      ['Synced', 'True', metadata.generation],
    ]);
  });

  it('PHASE-001: is Progressing during the rollout of a change', async () => {
    const seen = session.swarms.history(name).length;
    await session.patch(name, { runtime: { resources: { requests: { cpu: '20m' } } } });
    await session.ready(name);
    expect(phasesOf(name, seen).filter((phase) => phase !== 'Ready')).toEqual(['Progressing']);
  });

  it('is Progressing when its pod is lost, and Ready with the next pod', async () => {
    const lost = (await podsOf(name)).find(({ metadata }) => metadata?.deletionTimestamp === undefined);
    const seen = session.swarms.history(name).length;
    await session.api.delete('Pod', { name: lost!.metadata!.name!, namespace: NAMESPACE.runtime });
    await session.shows(name, 'Progressing');
    await session.ready(name);
    expect(phasesOf(name, seen).slice(-2)).toEqual(['Progressing', 'Ready']);
    const alive = (await podsOf(name)).filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
    expect(alive.map(({ metadata }) => metadata?.uid)).not.toContain(lost!.metadata!.uid);
  });

  it('PHASE-002: gets its status back after another client overwrites it', async () => {
    const path = `${pathOf('UserSwarm', { name })}/status`;
    const conditions = [{ ...readyCondition(session.swarms.current(name)!)!, status: 'False', reason: 'Tampered' }];
    const body = { status: { phase: 'Error', conditions } };
    await session.api.request(HttpMethod.PATCH, path, { body, contentType: 'application/merge-patch+json' });
    await session.swarms.until(name, 'tampered with', shows('Error', 'Tampered'), 10_000);
    const restored = await session.shows(name, 'Ready', 'Available', 40_000);
    expect(restored.status?.conditions).toHaveLength(CONDITIONS.length);
  });
});

describe('a UserSwarm that is suspended', () => {
  it('CRD-012 PHASE-003: has no pod and shows Suspended; resumed, it is Ready again', async () => {
    const name = await session.create();
    await session.ready(name);
    await session.patch(name, { suspend: true });
    const suspended = await session.shows(name, 'Suspended', 'Suspended');
    expect(conditionOf(suspended, 'Suspended')?.status).toBe('True');
    expect(conditionOf(suspended, 'Ready')?.status).toBe('False');
    await eventually(async () => (await podsOf(name)).length === 0, {
      description: 'no pod left',
      timeoutMs: 30_000,
    });
    const { deployment, service, serviceAccount } = await session.children(name);
    expect(deployment?.spec?.replicas).toBe(0);
    const metadata = { name: `agent-runtime-${name}` };
    expect({ service, serviceAccount }).toMatchObject({ service: { metadata }, serviceAccount: { metadata } });

    const seen = session.swarms.history(name).length;
    await session.patch(name, { suspend: false });
    await session.ready(name);
    expect(phasesOf(name, seen).slice(-2)).toEqual(['Progressing', 'Ready']);
    expect(await podsOf(name)).toHaveLength(1);
  });

  it('PHASE-003: never has a pod when it is created suspended', async () => {
    const name = await session.create({ suspend: true });
    await session.shows(name, 'Suspended', 'Suspended', 20_000);
    const { deployment } = await session.children(name);
    expect(deployment?.spec?.replicas).toBe(0);
    expect(
      session.pods.all().filter(({ metadata }) => metadata?.labels?.['app.kubernetes.io/instance'] === name),
    ).toEqual([]);
  });
});

describe('CTRL-001: the framework', () => {
  it('keeps one runtime per UserSwarm, whichever child is deleted', async () => {
    const names = await Promise.all(Array.from({ length: 3 }, () => session.create()));
    await Promise.all(names.map((name) => session.ready(name)));
    const [first = ''] = names;
    const place = { name: `agent-runtime-${first}`, namespace: NAMESPACE.runtime };
    const before = await session.children(first);
    await session.api.delete('Service', place);
    await session.api.delete('Deployment', place, 'Foreground');
    await eventually(
      async () => {
        const { deployment, service } = await session.children(first);
        const exist = [deployment, service].every(
          (child) => child !== undefined && child.metadata?.deletionTimestamp === undefined,
        );
        return exist && deployment?.metadata?.uid !== before.deployment?.metadata?.uid;
      },
      { description: 'children created again', timeoutMs: 60_000 },
    );
    await session.ready(first);
    for (const name of names) {
      const alive = (await podsOf(name)).filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
      expect(alive).toHaveLength(1);
    }
    await session.api.delete('UserSwarm', { name: first });
    await session.deleted(first);
    await childrenDeleted(session.api, first);
    expect(session.swarms.current(names[1]!)?.status?.phase).toBe('Ready');
  });
});
