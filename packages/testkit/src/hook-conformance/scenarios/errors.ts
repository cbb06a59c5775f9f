import type { JsonObject } from '../json.js';
import { refOf } from '../objects.js';
import type { HookFaultMode, World } from '../world.js';
import {
  CHILD_KINDS,
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

/** Seconds in which a framework that acts on a bad answer would have done harm. */
const HARM_S = 8;

/** What is refused leaves what runs alone, and is over when it is taken back. */
const refused = (name: string, reason: string, spec: (world: World) => JsonObject): Scenario => ({
  name,
  needs: ['pods'],
  async run(world, swarm) {
    await world.apply(userSwarm(world, swarm));
    await reaches(world, swarm, 'Ready');
    const uids = await childUids(world, swarm);
    const pods = await podNames(world, swarm);
    await world.apply(userSwarm(world, swarm, spec(world)));
    await reaches(world, swarm, 'Error', reason);
    await world.pass(HARM_S);
    same('the children', uids, await childUids(world, swarm));
    same('the pods', pods, await podNames(world, swarm));
    await world.apply(userSwarm(world, swarm));
    await reaches(world, swarm, 'Ready');
    same('the pods', pods, await podNames(world, swarm));
    await removed(world, swarm);
  },
});

const podNames = async (world: World, name: string): Promise<string[]> =>
  (await podsOf(world, name)).map(({ metadata }) => metadata.name).toSorted();

const withFault = (mode: HookFaultMode, name: string): Scenario => ({
  name,
  needs: ['pods', 'hook faults'],
  async run(world, swarm) {
    await world.apply(userSwarm(world, swarm));
    await reaches(world, swarm, 'Ready');
    const uids = await childUids(world, swarm);
    const pods = await podNames(world, swarm);
    await world.setHook(mode);
    await world.apply(userSwarm(world, swarm, { runtime: { image: world.images.other } }));
    await world.pass(HARM_S);
    same('the children', uids, await childUids(world, swarm));
    same('the pods', pods, await podNames(world, swarm));
    await world.setHook('none');
    await reaches(world, swarm, 'Ready');
    same('the children', uids, await childUids(world, swarm));
    await removed(world, swarm);
  },
});

export const errorScenarios: readonly Scenario[] = [
  refused('image that is not allowed → Error/PolicyDenied, what runs goes on', 'PolicyDenied', ({ images }) => ({
    runtime: { image: images.forbidden },
  })),
  refused("somebody else's Secret → Error/PolicyDenied, what runs goes on", 'PolicyDenied', () => ({
    config: { envSecretRef: { name: 'workspace-of-somebody-else-env' } },
  })),
  refused('request above its limit → Error/InvalidSpec, what runs goes on', 'InvalidSpec', ({ images }) => ({
    runtime: { image: images.good, resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } } },
  })),
  {
    name: 'refused from the start → Error, no children, and deletable',
    needs: [],
    async run(world, name) {
      await world.apply(userSwarm(world, name, { runtime: { image: world.images.forbidden } }));
      await reaches(world, name, 'Error', 'PolicyDenied');
      for (const kind of CHILD_KINDS) {
        if ((await world.get(childRef(kind, world.namespace, name))) !== undefined)
          throw new Error(`there is a ${kind}`);
      }
      await removed(world, name);
    },
  },
  withFault('down', 'hook out of reach: nothing changes, then it goes on'),
  withFault('error', 'hook answers 500: nothing changes, then it goes on'),
  withFault('rubbish', 'hook answers rubbish: nothing changes, then it goes on'),
  {
    name: 'deleted while the hook is out of reach: gone when it is back',
    needs: ['pods', 'hook faults'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await reaches(world, name, 'Ready');
      await world.setHook('down');
      await world.delete(swarmRef(name));
      await world.pass(HARM_S);
      if ((await world.get(swarmRef(name))) === undefined) throw new Error('it went without having been finalized');
      await childUids(world, name);
      await world.setHook('none');
      await isGone(world, swarmRef(name));
      for (const kind of CHILD_KINDS) await isGone(world, childRef(kind, world.namespace, name));
      for (const pod of await podsOf(world, name)) await isGone(world, refOf(pod));
    },
  },
];
