import type { UserSwarmStatus } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { asUserSwarm, type Ref, refOf } from '../objects.js';
import type { Capability, World } from '../world.js';
import type { JsonObject } from '../json.js';

/** A test of one UserSwarm that runs in any world with the needed capabilities. It deletes all objects that it creates. */
export interface Scenario {
  name: string;
  needs: readonly Capability[];
  /** @param name a unique name for the UserSwarm @throws Error when an expectation is not met */
  run(world: World, name: string): Promise<void>;
}

/** Seconds until the REASON column shows a cause. */
export const SHOWN_WITHIN_S = 10;

export const swarmRef = (name: string): Ref => ({ kind: 'UserSwarm', name });
export const childRef = (kind: string, namespace: string, name: string): Ref => ({
  kind,
  namespace,
  name: `agent-runtime-${name}`,
});
export const CHILD_KINDS = ['ServiceAccount', 'Service', 'Deployment'] as const;

/** Each top-level field of `spec` replaces its default. */
export function userSwarm(world: World, name: string, spec: JsonObject = {}): KubernetesObject {
  return {
    apiVersion: 'uswarm.dev/v1alpha1',
    kind: 'UserSwarm',
    metadata: { name },
    spec: {
      userId: 'user-1',
      placement: { runtimeNamespace: world.namespace },
      runtime: { image: world.images.good },
      ...spec,
    },
  };
}

const statusOf = (object: KubernetesObject | undefined): UserSwarmStatus =>
  object === undefined ? {} : (asUserSwarm(object).status ?? {});

/** The Ready reason, if it is about the current generation. */
const readyReason = (object: KubernetesObject | undefined): string | undefined => {
  const ready = statusOf(object).conditions?.find(({ type }) => type === 'Ready');
  return ready?.observedGeneration === object?.metadata.generation ? ready?.reason : undefined;
};

/** Waits for a phase and, if given, the Ready reason. */
export function waitForPhase(
  world: World,
  name: string,
  phase: string,
  reason?: string,
  seconds?: number,
): Promise<void> {
  const holds = (object: KubernetesObject | undefined): boolean => {
    const shown = readyReason(object);
    return statusOf(object).phase === phase && shown !== undefined && (reason === undefined || shown === reason);
  };
  return world.waitFor(swarmRef(name), `${phase}${reason === undefined ? '' : `/${reason}`}`, holds, seconds);
}

export const waitUntilDeleted = (world: World, ref: Ref): Promise<void> =>
  world.waitFor(ref, 'deleted', (object) => object === undefined);

/** Deletes the UserSwarm and waits until it, its children and its pods are deleted. */
export async function deleteAndWait(world: World, name: string, namespace = world.namespace): Promise<void> {
  await world.delete(swarmRef(name));
  await waitUntilDeleted(world, swarmRef(name));
  for (const kind of CHILD_KINDS) await waitUntilDeleted(world, childRef(kind, namespace, name));
  for (const pod of await podsOf(world, name, namespace)) await waitUntilDeleted(world, refOf(pod));
}

export async function podsOf(world: World, name: string, namespace = world.namespace): Promise<KubernetesObject[]> {
  const pods = await world.list('Pod', namespace);
  return pods.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] === name);
}

/** The children's uids, which show if a child was replaced. @throws Error if a child is missing */
export async function childUids(world: World, name: string, namespace = world.namespace): Promise<string[]> {
  const children = await Promise.all(CHILD_KINDS.map((kind) => world.get(childRef(kind, namespace, name))));
  return children.map((child, index) => {
    if (child?.metadata.uid === undefined) throw new Error(`the ${CHILD_KINDS[index]} is missing`);
    return child.metadata.uid;
  });
}

export function expectSame(what: string, before: unknown, after: unknown): void {
  if (JSON.stringify(before) !== JSON.stringify(after)) {
    throw new Error(`${what} changed: ${JSON.stringify(before)} became ${JSON.stringify(after)}`);
  }
}
