import { ROLLOUT, START, START_QUEUED } from '@uswarm/contract/userswarm';
import { asUserSwarm } from '../objects.js';
import type { World } from '../world.js';
import { deleteAndWait, expectSame, podsOf, type Scenario, swarmRef, userSwarm, waitForPhase } from './scenario.js';

const podNames = async (world: World, name: string): Promise<string[]> =>
  (await podsOf(world, name)).map(({ metadata }) => metadata.name).toSorted();

async function pendingRevision(world: World, name: string): Promise<string | undefined> {
  const swarm = await world.get(swarmRef(name));
  return swarm && asUserSwarm(swarm).status?.pendingRevision;
}

/** The time since which a rollout is pending; empty if none is. */
async function waitsSince(world: World, name: string): Promise<string> {
  const swarm = await world.get(swarmRef(name));
  const conditions = (swarm && asUserSwarm(swarm).status?.conditions) ?? [];
  return conditions.find(({ type, status: is }) => type === 'UpToDate' && is === 'False')?.lastTransitionTime ?? '';
}

const annotate = (world: World, name: string, annotations: Record<string, string | null>): Promise<void> =>
  world.patch(swarmRef(name), { metadata: { annotations } });

/** A UserSwarm with the platform's default image, which a new release changes. */
const plain = (world: World, name: string, spec: { suspend?: boolean } = {}) =>
  userSwarm(world, name, { runtime: {}, ...spec });

/** Creates a UserSwarm whose pods run the first release while the hook is from the next. @returns the pod names */
async function createHeldBack(world: World, name: string): Promise<string[]> {
  await world.apply(plain(world, name));
  await waitForPhase(world, name, 'Ready');
  const pods = await podNames(world, name);
  await world.release?.('next');
  await world.waitFor(
    swarmRef(name),
    'pending',
    (object) => object !== undefined && 'pendingRevision' in status(object),
  );
  expectSame('the pods', pods, await podNames(world, name));
  await waitForPhase(world, name, 'Ready');
  return pods;
}

const status = (object: { [field: string]: unknown }): object => (object['status'] ?? {}) as object;

async function waitUntilReplaced(world: World, name: string, pods: string[]): Promise<void> {
  await waitForPhase(world, name, 'Ready');
  expectSame('the pending revision', undefined, await pendingRevision(world, name));
  const kept = (await podNames(world, name)).filter((pod) => pods.includes(pod));
  expectSame('the pods that remain after the rollout', [], kept);
}

export const rolloutScenarios: readonly Scenario[] = [
  {
    name: 'a new release keeps running pods without writes until the rollout is forced',
    needs: ['pods', 'releases'],
    async run(world, name) {
      const pods = await createHeldBack(world, name);
      await world.pass(2);
      const writes = await world.writes();
      await world.pass(2 * world.resyncSeconds + 2);
      expectSame('the number of writes at rest', writes, await world.writes());
      expectSame('the pods', pods, await podNames(world, name));
      const revision = (await pendingRevision(world, name)) ?? '';
      await annotate(world, name, { [ROLLOUT.revision]: revision, [ROLLOUT.time]: await waitsSince(world, name) });
      await world.pass(2);
      expectSame('the pods', pods, await podNames(world, name));
      await annotate(world, name, { [ROLLOUT.forced]: 'true' });
      await world.waitFor(swarmRef(name), 'up to date', (object) => !('pendingRevision' in status(object ?? {})));
      await waitUntilReplaced(world, name, pods);
      await deleteAndWait(world, name);
      await world.release?.('first');
    },
  },
  {
    name: 'a suspended UserSwarm gets the new release without a grant when it is resumed, and can return to the old one',
    needs: ['pods', 'releases'],
    async run(world, name) {
      const pods = await createHeldBack(world, name);
      await world.apply(plain(world, name, { suspend: true }));
      await waitForPhase(world, name, 'Suspended');
      await world.waitFor(swarmRef(name), 'up to date', (object) => !('pendingRevision' in status(object ?? {})));
      await world.apply(plain(world, name, { suspend: false }));
      await waitUntilReplaced(world, name, pods);
      const replaced = await podNames(world, name);
      await world.release?.('first');
      expectSame('the pods', replaced, await podNames(world, name));
      await world.apply(plain(world, name, { suspend: true }));
      await waitForPhase(world, name, 'Suspended');
      await deleteAndWait(world, name);
    },
  },
  {
    name: 'a queued start shows Queued without a pod until it is allowed',
    needs: ['pods', 'starts'],
    async run(world, name) {
      const swarm = userSwarm(world, name);
      const annotations = { [START]: START_QUEUED };
      await world.apply({ ...swarm, metadata: { ...swarm.metadata, annotations } });
      await waitForPhase(world, name, 'Progressing', 'Queued');
      await world.pass(2 * world.resyncSeconds);
      expectSame('the pods', [], await podNames(world, name));
      await annotate(world, name, { [START]: null });
      await waitForPhase(world, name, 'Ready');
      await world.apply(userSwarm(world, name, { suspend: true }));
      await waitForPhase(world, name, 'Suspended');
      await annotate(world, name, { [START]: START_QUEUED });
      await world.pass(5);
      await world.apply(userSwarm(world, name, { suspend: false }));
      await waitForPhase(world, name, 'Progressing', 'Queued');
      expectSame('the pods', [], await podNames(world, name));
      await deleteAndWait(world, name);
    },
  },
];
