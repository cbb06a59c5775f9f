import { asUserSwarm } from '../objects.js';
import type { World } from '../world.js';
import {
  childRef,
  childUids,
  waitUntilDeleted,
  podsOf,
  waitForPhase,
  deleteAndWait,
  expectSame,
  type Scenario,
  swarmRef,
  userSwarm,
} from './scenario.js';

async function expectNoWritesAtRest(world: World): Promise<void> {
  if (!world.capabilities.has('counting')) return;
  // Syncs that becoming Ready causes end first.
  await world.pass(2);
  const before = await world.writes();
  await world.pass(2 * world.resyncSeconds + 2);
  expectSame('the number of writes at rest', before, await world.writes());
}

export const lifeScenarios: readonly Scenario[] = [
  {
    name: 'a new UserSwarm becomes Ready, causes no writes at rest and can be deleted',
    needs: ['pods'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await waitForPhase(world, name, 'Ready', 'Available');
      const swarm = await world.get(swarmRef(name));
      if (swarm === undefined) throw new Error('the UserSwarm does not exist');
      const { status } = asUserSwarm(swarm);
      expectSame('the address', `http://agent-runtime-${name}.${world.namespace}.svc:42618`, status?.address);
      expectSame('the image', world.images.good, status?.image);
      expectSame('the observed generation', swarm.metadata.generation, status?.observedGeneration);
      await childUids(world, name);
      await expectNoWritesAtRest(world);
      await deleteAndWait(world, name);
    },
  },
  {
    name: 'an update of port, image and quantities keeps the children',
    needs: ['pods'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await waitForPhase(world, name, 'Ready');
      const uids = await childUids(world, name);
      const resources = { requests: { cpu: '0.05', memory: '65536Ki' }, limits: { cpu: '1000m', memory: '1024Mi' } };
      await world.apply(userSwarm(world, name, { runtime: { image: world.images.other, port: 42619, resources } }));
      await waitForPhase(world, name, 'Ready');
      expectSame('the children', uids, await childUids(world, name));
      const pod = (await podsOf(world, name)).find(({ metadata }) => metadata.deletionTimestamp === undefined);
      const { containers } = (pod?.['spec'] ?? {}) as { containers?: { image: string }[] };
      expectSame('the image of the pod', world.images.other, containers?.[0]?.image);
      await expectNoWritesAtRest(world);
      await deleteAndWait(world, name);
    },
  },
  {
    name: 'a suspended UserSwarm has no pod and becomes Ready after it is resumed',
    needs: ['pods'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await waitForPhase(world, name, 'Ready');
      const uids = await childUids(world, name);
      await world.apply(userSwarm(world, name, { suspend: true }));
      await waitForPhase(world, name, 'Suspended', 'Suspended');
      await world.waitFor(childRef('Deployment', world.namespace, name), 'scaled to zero', (deployment) => {
        const { spec, status } = (deployment ?? {}) as { spec?: { replicas?: number }; status?: { replicas?: number } };
        return spec?.replicas === 0 && (status?.replicas ?? 0) === 0;
      });
      await expectNoWritesAtRest(world);
      await world.apply(userSwarm(world, name, { suspend: false }));
      await waitForPhase(world, name, 'Ready');
      expectSame('the children', uids, await childUids(world, name));
      await deleteAndWait(world, name);
    },
  },
  {
    name: 'a UserSwarm that is created suspended can be deleted',
    needs: [],
    async run(world, name) {
      await world.apply(userSwarm(world, name, { suspend: true }));
      await waitForPhase(world, name, 'Suspended', 'Suspended');
      await world.waitFor(childRef('Deployment', world.namespace, name), 'created', (child) => child !== undefined);
      await deleteAndWait(world, name);
    },
  },
  {
    name: 'a UserSwarm can be deleted before it is Ready',
    needs: [],
    async run(world, name) {
      await world.apply(userSwarm(world, name, { runtime: { image: world.images.missing } }));
      await world.waitFor(childRef('ServiceAccount', world.namespace, name), 'created', (child) => child !== undefined);
      await deleteAndWait(world, name);
    },
  },
  {
    name: 'a UserSwarm can be deleted immediately after its creation',
    needs: [],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await deleteAndWait(world, name);
    },
  },
  {
    name: 'a UserSwarm that is created again with the same name has new children',
    needs: ['pods'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await waitForPhase(world, name, 'Ready');
      const uids = await childUids(world, name);
      await world.delete(swarmRef(name));
      await waitUntilDeleted(world, swarmRef(name));
      await world.apply(userSwarm(world, name));
      await waitForPhase(world, name, 'Ready');
      const kept = (await childUids(world, name)).filter((uid) => uids.includes(uid));
      expectSame('the children that remain after their owner', [], kept);
      await deleteAndWait(world, name);
    },
  },
  {
    name: 'a child that another client deletes or changes is restored',
    needs: ['pods'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await waitForPhase(world, name, 'Ready');
      await world.delete(childRef('Service', world.namespace, name));
      await waitUntilRestored(world, name);
      await world.patch(childRef('Deployment', world.namespace, name), { spec: { replicas: 3 } });
      await world.waitFor(childRef('Deployment', world.namespace, name), 'one replica', (deployment) => {
        const { spec } = (deployment ?? {}) as { spec?: { replicas?: number } };
        return spec?.replicas === 1;
      });
      await waitForPhase(world, name, 'Ready');
      await deleteAndWait(world, name);
    },
  },
];

async function waitUntilRestored(world: World, name: string): Promise<void> {
  const ref = childRef('Service', world.namespace, name);
  await world.waitFor(
    ref,
    'restored',
    (child) => child !== undefined && child.metadata.deletionTimestamp === undefined,
  );
}
