import type { JsonObject } from '../json.js';
import { refOf } from '../objects.js';
import type { HookFaultMode, World } from '../world.js';
import {
  CHILD_KINDS,
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

/** Seconds until a controller that acts on an invalid response would have changed something. */
const HARM_S = 8;

/** A rejected spec does not affect the running pods; the error ends with the next valid spec. */
const rejects = (name: string, reason: string, spec: (world: World) => JsonObject): Scenario => ({
  name,
  needs: ['pods'],
  async run(world, swarm) {
    await world.apply(userSwarm(world, swarm));
    await waitForPhase(world, swarm, 'Ready');
    const uids = await childUids(world, swarm);
    const pods = await podNames(world, swarm);
    await world.apply(userSwarm(world, swarm, spec(world)));
    await waitForPhase(world, swarm, 'Error', reason);
    await world.pass(HARM_S);
    expectSame('the children', uids, await childUids(world, swarm));
    expectSame('the pods', pods, await podNames(world, swarm));
    await world.apply(userSwarm(world, swarm));
    await waitForPhase(world, swarm, 'Ready');
    expectSame('the pods', pods, await podNames(world, swarm));
    await deleteAndWait(world, swarm);
  },
});

const podNames = async (world: World, name: string): Promise<string[]> =>
  (await podsOf(world, name)).map(({ metadata }) => metadata.name).toSorted();

const withFault = (mode: HookFaultMode, name: string): Scenario => ({
  name,
  needs: ['pods', 'hook faults'],
  async run(world, swarm) {
    await world.apply(userSwarm(world, swarm));
    await waitForPhase(world, swarm, 'Ready');
    const uids = await childUids(world, swarm);
    const pods = await podNames(world, swarm);
    await world.setHook(mode);
    await world.apply(userSwarm(world, swarm, { runtime: { image: world.images.other } }));
    await world.pass(HARM_S);
    expectSame('the children', uids, await childUids(world, swarm));
    expectSame('the pods', pods, await podNames(world, swarm));
    await world.setHook('none');
    await waitForPhase(world, swarm, 'Ready');
    expectSame('the children', uids, await childUids(world, swarm));
    await deleteAndWait(world, swarm);
  },
});

export const errorScenarios: readonly Scenario[] = [
  rejects('an image that is not allowed shows Error/PolicyDenied and keeps the pods', 'PolicyDenied', ({ images }) => ({
    runtime: { image: images.forbidden },
  })),
  rejects('the Secret of another workspace shows Error/PolicyDenied and keeps the pods', 'PolicyDenied', () => ({
    config: { envSecretRef: { name: 'workspace-of-another-user-env' } },
  })),
  rejects('a request above its limit shows Error/InvalidSpec and keeps the pods', 'InvalidSpec', ({ images }) => ({
    runtime: { image: images.good, resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } } },
  })),
  {
    name: 'a spec that is rejected at creation shows Error, has no children and can be deleted',
    needs: [],
    async run(world, name) {
      await world.apply(userSwarm(world, name, { runtime: { image: world.images.forbidden } }));
      await waitForPhase(world, name, 'Error', 'PolicyDenied');
      for (const kind of CHILD_KINDS) {
        if ((await world.get(childRef(kind, world.namespace, name))) !== undefined)
          throw new Error(`the ${kind} exists`);
      }
      await deleteAndWait(world, name);
    },
  },
  withFault('down', 'an unreachable hook changes nothing until it recovers'),
  withFault('error', 'a hook that returns 500 changes nothing until it recovers'),
  withFault('malformed', 'a malformed response changes nothing until the hook recovers'),
  {
    name: 'a UserSwarm that is deleted while the hook is unreachable is finalized after it recovers',
    needs: ['pods', 'hook faults'],
    async run(world, name) {
      await world.apply(userSwarm(world, name));
      await waitForPhase(world, name, 'Ready');
      await world.setHook('down');
      await world.delete(swarmRef(name));
      await world.pass(HARM_S);
      if ((await world.get(swarmRef(name))) === undefined) throw new Error('it was deleted without being finalized');
      await childUids(world, name);
      await world.setHook('none');
      await waitUntilDeleted(world, swarmRef(name));
      for (const kind of CHILD_KINDS) await waitUntilDeleted(world, childRef(kind, world.namespace, name));
      for (const pod of await podsOf(world, name)) await waitUntilDeleted(world, refOf(pod));
    },
  },
];
