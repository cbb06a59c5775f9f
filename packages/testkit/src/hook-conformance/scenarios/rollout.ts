import { ROLLOUT, START, START_QUEUED } from '@uswarm/contract/userswarm';
import { asUserSwarm } from '../objects.js';
import type { World } from '../world.js';
import { podsOf, reaches, removed, same, type Scenario, swarmRef, userSwarm } from './scenario.js';

const podNames = async (world: World, name: string): Promise<string[]> =>
  (await podsOf(world, name)).map(({ metadata }) => metadata.name).toSorted();

async function pendingRevision(world: World, name: string): Promise<string | undefined> {
  const swarm = await world.get(swarmRef(name));
  return swarm && asUserSwarm(swarm).status?.pendingRevision;
}

/** When it began to wait; empty where it does not. */
async function waitsSince(world: World, name: string): Promise<string> {
  const swarm = await world.get(swarmRef(name));
  const conditions = (swarm && asUserSwarm(swarm).status?.conditions) ?? [];
  return conditions.find(({ type, status: is }) => type === 'UpToDate' && is === 'False')?.lastTransitionTime ?? '';
}

const annotate = (world: World, name: string, annotations: Record<string, string | null>): Promise<void> =>
  world.patch(swarmRef(name), { metadata: { annotations } });

/** One that leaves its image to the platform, as those do that an upgrade is about. */
const plain = (world: World, name: string, spec: { suspend?: boolean } = {}) =>
  userSwarm(world, name, { runtime: {}, ...spec });

/** Ready with a pod of the first release, under the hook of the next. */
async function heldBack(world: World, name: string): Promise<string[]> {
  await world.apply(plain(world, name));
  await reaches(world, name, 'Ready');
  const pods = await podNames(world, name);
  await world.release?.('next');
  await world.waitFor(
    swarmRef(name),
    'pending',
    (object) => object !== undefined && 'pendingRevision' in status(object),
  );
  same('the pods', pods, await podNames(world, name));
  await reaches(world, name, 'Ready');
  return pods;
}

const status = (object: { [field: string]: unknown }): object => (object['status'] ?? {}) as object;

async function isReplaced(world: World, name: string, pods: string[]): Promise<void> {
  await reaches(world, name, 'Ready');
  same('what is pending', undefined, await pendingRevision(world, name));
  const kept = (await podNames(world, name)).filter((pod) => pods.includes(pod));
  same('the pods that outlived the roll-out', [], kept);
}

export const rolloutScenarios: readonly Scenario[] = [
  {
    name: 'another release: what runs is kept without a write, until the go-ahead is forced',
    needs: ['pods', 'releases'],
    async run(world, name) {
      const pods = await heldBack(world, name);
      await world.pass(2);
      const writes = await world.writes();
      await world.pass(2 * world.resyncSeconds + 2);
      same('the number of writes at rest', writes, await world.writes());
      same('the pods', pods, await podNames(world, name));
      const revision = (await pendingRevision(world, name)) ?? '';
      await annotate(world, name, { [ROLLOUT.revision]: revision, [ROLLOUT.time]: await waitsSince(world, name) });
      await world.pass(2);
      same('the pods', pods, await podNames(world, name));
      await annotate(world, name, { [ROLLOUT.forced]: 'true' });
      await world.waitFor(swarmRef(name), 'up to date', (object) => !('pendingRevision' in status(object ?? {})));
      await isReplaced(world, name, pods);
      await removed(world, name);
      await world.release?.('first');
    },
  },
  {
    name: 'another release: who is suspended and resumed has it, and going back needs no go-ahead either',
    needs: ['pods', 'releases'],
    async run(world, name) {
      const pods = await heldBack(world, name);
      await world.apply(plain(world, name, { suspend: true }));
      await reaches(world, name, 'Suspended');
      await world.waitFor(swarmRef(name), 'up to date', (object) => !('pendingRevision' in status(object ?? {})));
      await world.apply(plain(world, name, { suspend: false }));
      await isReplaced(world, name, pods);
      const replaced = await podNames(world, name);
      await world.release?.('first');
      same('the pods', replaced, await podNames(world, name));
      await world.apply(plain(world, name, { suspend: true }));
      await reaches(world, name, 'Suspended');
      await removed(world, name);
    },
  },
  {
    name: 'a start that has to wait: Queued without a pod, then Ready',
    needs: ['pods', 'starts'],
    async run(world, name) {
      const swarm = userSwarm(world, name);
      const annotations = { [START]: START_QUEUED };
      await world.apply({ ...swarm, metadata: { ...swarm.metadata, annotations } });
      await reaches(world, name, 'Progressing', 'Queued');
      await world.pass(2 * world.resyncSeconds);
      same('the pods', [], await podNames(world, name));
      await annotate(world, name, { [START]: null });
      await reaches(world, name, 'Ready');
      await world.apply(userSwarm(world, name, { suspend: true }));
      await reaches(world, name, 'Suspended');
      await annotate(world, name, { [START]: START_QUEUED });
      await world.pass(5);
      await world.apply(userSwarm(world, name, { suspend: false }));
      await reaches(world, name, 'Progressing', 'Queued');
      same('the pods', [], await podNames(world, name));
      await removed(world, name);
    },
  },
];
