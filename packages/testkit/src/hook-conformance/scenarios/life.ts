import { asUserSwarm } from '../objects.js';
import type { World } from '../world.js';
import {
  childRef,
  childUids,
  isGone,
  podsOf,
  reaches,
  removed,
  same,
  type Scenario,
  swarmRef,
  userSwarm,
} from './scenario.js';

async function restsWithoutWrites(world: World): Promise<void> {
  if (!world.capabilities.has('counting')) return;
  // What was set off by becoming Ready comes to rest first.
  await world.pass(2);
  const before = await world.writes();
  await world.pass(2 * world.resyncSeconds + 2);
  same('the number of writes at rest', before, await world.writes());
}

export const lifeScenarios: readonly Scenario[] = [
  {
    name: 'create → Ready, then rest without writes, then delete',
    needs: ['pods'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await reaches(world, name, 'Ready', 'Available');
      const swarm = await world.get(swarmRef(name));
      if (swarm === undefined) throw new Error('the UserSwarm is gone');
      const { status } = asUserSwarm(swarm);
      same('the address', `http://agent-runtime-${name}.${world.namespace}.svc:42618`, status?.address);
      same('the image', world.images.good, status?.image);
      same('the generation that was seen', swarm.metadata.generation, status?.observedGeneration);
      await childUids(world, name);
      await restsWithoutWrites(world);
      await removed(world, name);
    },
  },
  {
    name: 'update in place: port, image and amounts the API server rewrites',
    needs: ['pods'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await reaches(world, name, 'Ready');
      const uids = await childUids(world, name);
      const resources = { requests: { cpu: '0.05', memory: '65536Ki' }, limits: { cpu: '1000m', memory: '1024Mi' } };
      await world.apply(userSwarm(world, name, { runtime: { image: world.images.other, port: 42619, resources } }));
      await reaches(world, name, 'Ready');
      same('the children', uids, await childUids(world, name));
      const pod = (await podsOf(world, name)).find(({ metadata }) => metadata.deletionTimestamp === undefined);
      const { containers } = (pod?.['spec'] ?? {}) as { containers?: { image: string }[] };
      same('the image of the pod', world.images.other, containers?.[0]?.image);
      await restsWithoutWrites(world);
      await removed(world, name);
    },
  },
  {
    name: 'suspend → no pod, resume → Ready',
    needs: ['pods'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await reaches(world, name, 'Ready');
      const uids = await childUids(world, name);
      await world.apply(userSwarm(world, name, { suspend: true }));
      await reaches(world, name, 'Suspended', 'Suspended');
      await world.waitFor(childRef('Deployment', world.namespace, name), 'scaled to zero', (deployment) => {
        const { spec, status } = (deployment ?? {}) as { spec?: { replicas?: number }; status?: { replicas?: number } };
        return spec?.replicas === 0 && (status?.replicas ?? 0) === 0;
      });
      await restsWithoutWrites(world);
      await world.apply(userSwarm(world, name, { suspend: false }));
      await reaches(world, name, 'Ready');
      same('the children', uids, await childUids(world, name));
      await removed(world, name);
    },
  },
  {
    name: 'created suspended, deleted suspended',
    needs: [],
    async run(world, name) {
      await world.apply(userSwarm(world, name, { suspend: true }));
      await reaches(world, name, 'Suspended', 'Suspended');
      await world.waitFor(childRef('Deployment', world.namespace, name), 'there', (child) => child !== undefined);
      await removed(world, name);
    },
  },
  {
    name: 'delete during creation',
    needs: [],
    async run(world, name) {
      await world.apply(userSwarm(world, name, { runtime: { image: world.images.missing } }));
      await world.waitFor(childRef('ServiceAccount', world.namespace, name), 'there', (child) => child !== undefined);
      await removed(world, name);
    },
  },
  {
    name: 'delete right after creation',
    needs: [],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await removed(world, name);
    },
  },
  {
    name: 'made anew under the same name: its children are its own',
    needs: ['pods'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await reaches(world, name, 'Ready');
      const uids = await childUids(world, name);
      await world.delete(swarmRef(name));
      await isGone(world, swarmRef(name));
      await world.apply(userSwarm(world, name));
      await reaches(world, name, 'Ready');
      const kept = (await childUids(world, name)).filter((uid) => uids.includes(uid));
      same('the children that outlived their owner', [], kept);
      await removed(world, name);
    },
  },
  {
    name: 'a child that somebody deletes or changes is put right',
    needs: ['pods'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await reaches(world, name, 'Ready');
      await world.delete(childRef('Service', world.namespace, name));
      await isGoneOrNew(world, name);
      await world.patch(childRef('Deployment', world.namespace, name), { spec: { replicas: 3 } });
      await world.waitFor(childRef('Deployment', world.namespace, name), 'one replica', (deployment) => {
        const { spec } = (deployment ?? {}) as { spec?: { replicas?: number } };
        return spec?.replicas === 1;
      });
      await reaches(world, name, 'Ready');
      await removed(world, name);
    },
  },
];

async function isGoneOrNew(world: World, name: string): Promise<void> {
  const ref = childRef('Service', world.namespace, name);
  await world.waitFor(
    ref,
    'there again',
    (child) => child !== undefined && child.metadata.deletionTimestamp === undefined,
  );
}
