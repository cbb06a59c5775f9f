import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { childName } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import { childrenDeleted, messageOf, NAMESPACE, openSession, type Session, SHOWN_WITHIN_MS } from '../support/index.js';

const DOOMED_NAMESPACE = 'e2e-doomed';
/** The finalizer of another program. */
const HOLD = 'e2e.uswarm.dev/hold';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

describe('a UserSwarm that is deleted', () => {
  it('PHASE-005: is Deleting until its children and its pod are deleted', async () => {
    const name = await session.create();
    await session.ready(name);
    await session.api.delete('UserSwarm', { name });
    await session.shows(name, 'Deleting', 'Deleting');
    await session.deleted(name);
    // Checked immediately: an object that outlives the UserSwarm would never be deleted.
    const { deployment, pods, service, serviceAccount } = await session.children(name);
    expect([deployment, service, serviceAccount, ...pods].filter(Boolean)).toEqual([]);
  });

  it.each(['Service', 'Deployment', 'Pod'] as const)(
    'CTRL-004: is kept while a %s has a foreign finalizer, names both, and is deleted with it',
    async (kind) => {
      const name = await session.create();
      await session.ready(name);
      const [pod] = (await session.children(name)).pods;
      const place = { name: kind === 'Pod' ? pod!.metadata!.name! : childName(name), namespace: NAMESPACE.runtime };
      await session.api.merge(kind, place, { metadata: { finalizers: [HOLD] } });
      try {
        await session.api.delete('UserSwarm', { name });
        const held = await session.swarms.until(
          name,
          'names only the object that is kept',
          (swarm) =>
            swarm?.status?.phase === 'Deleting' &&
            messageOf(swarm) ===
              `Waiting for the deletion of ${kind} ${place.namespace}/${place.name} (finalizers: ${HOLD}).`,
          60_000,
        );
        expect(held.object?.metadata.finalizers).toHaveLength(1);
      } finally {
        await session.api.merge(kind, place, { metadata: { finalizers: null } });
      }
      await session.deleted(name);
      await childrenDeleted(session.api, name);
    },
  );

  it('CTRL-004: names the finalizer of another program that keeps it after its objects are deleted', async () => {
    const name = await session.create();
    const { metadata } = await session.ready(name);
    await session.api.merge(
      'UserSwarm',
      { name },
      { metadata: { finalizers: [...(metadata.finalizers ?? []), HOLD] } },
    );
    try {
      await session.api.delete('UserSwarm', { name });
      await session.swarms.until(
        name,
        'has lost the finalizer of the controller',
        (swarm) => swarm?.metadata.finalizers?.length === 1,
        60_000,
      );
      await session.swarms.until(
        name,
        'names the finalizer',
        (swarm) => messageOf(swarm!) === `All objects are deleted. Waits for the finalizers: ${HOLD}.`,
        SHOWN_WITHIN_MS,
      );
      expect(await childrenDeleted(session.api, name)).toBe(true);
    } finally {
      await session.api.merge('UserSwarm', { name }, { metadata: { finalizers: null } });
    }
    await session.deleted(name);
  });

  it('can be created again under its name immediately', async () => {
    const name = await session.create();
    await session.ready(name);
    const { uid } = session.swarms.current(name)!.metadata;
    await session.api.delete('UserSwarm', { name });
    await session.deleted(name);
    await session.create({}, name);
    const again = await session.ready(name);
    expect(again.metadata.uid).not.toBe(uid);
    const { deployment } = await session.children(name);
    expect(deployment?.metadata?.ownerReferences?.map((owner) => owner.uid)).toEqual([again.metadata.uid]);
  });

  it.each([0, 30, 100, 300, 700, 1500])(
    'leaves no objects when it is deleted %i ms after its creation',
    async (afterMs) => {
      const name = await session.create();
      await sleep(afterMs);
      await session.api.delete('UserSwarm', { name });
      await session.deleted(name);
      expect(await childrenDeleted(session.api, name)).toBe(true);
    },
  );
});

describe('a UserSwarm whose namespace is deleted first', () => {
  it('reports the missing namespace and can still be deleted', async () => {
    const before = await session.create({ placement: { runtimeNamespace: DOOMED_NAMESPACE } });
    const during = await session.create({ placement: { runtimeNamespace: DOOMED_NAMESPACE } });
    await Promise.all([session.ready(before), session.ready(during)]);
    await session.api.delete('Namespace', { name: DOOMED_NAMESPACE });
    await session.api.delete('UserSwarm', { name: during });
    await session.deleted(during);
    await session.swarms.until(
      before,
      'shows NamespaceMissing',
      (swarm) => messageOf(swarm!).includes(DOOMED_NAMESPACE),
      SHOWN_WITHIN_MS,
    );
    await eventually(async () => (await session.api.find('Namespace', { name: DOOMED_NAMESPACE })) === undefined, {
      description: 'the namespace is deleted',
      timeoutMs: 60_000,
    });
    const missing = await session.shows(before, 'Progressing', 'NamespaceMissing');
    expect(messageOf(missing)).toContain(DOOMED_NAMESPACE);
    await session.api.delete('UserSwarm', { name: before });
    await session.deleted(before);
  });
});
