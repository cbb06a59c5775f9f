import { describe, expect, it } from '@jest/globals';
import { LABEL } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { createManualClock, MODEL_IMAGES, ModelWorld, type Ref } from '@uswarm/hook-conformance';
import { testFacts, testSettings } from '../test/webhook-input.js';
import { render } from './render/render.js';

const NAME = 'workspace-a';
const USER_SWARM: Ref = { kind: 'UserSwarm', name: NAME };
const SERVICE: Ref = { kind: 'Service', namespace: 'userswarms', name: `agent-runtime-${NAME}` };
const DEPLOYMENT: Ref = { ...SERVICE, kind: 'Deployment' };
const EDITED = { port: 4711, targetPort: 4711, protocol: 'TCP', name: 'grpc' };

function createWorld(apply: 'three-way' | 'server-side'): ModelWorld {
  const settings = testSettings({ image: MODEL_IMAGES.good });
  const clock = createManualClock();
  const hook = async (request: Parameters<typeof render>[0]) =>
    render(request, settings, await testFacts({ now: clock.now() }));
  return new ModelWorld({ hook, clock, flavour: 'metacontroller', apply });
}
async function createRuntime(world: ModelWorld): Promise<void> {
  const spec = { userId: 'user-1', runtime: { image: MODEL_IMAGES.good } };
  await world.apply({ apiVersion: 'uswarm.dev/v1alpha1', kind: 'UserSwarm', metadata: { name: NAME }, spec });
}
const isReady = (object: KubernetesObject | undefined): boolean =>
  (object?.['status'] as { phase?: string } | undefined)?.phase === 'Ready';
const portsOf = (world: ModelWorld): unknown => {
  const spec = world.api.get(SERVICE)?.['spec'] as { ports: { port: number }[] } | undefined;
  return spec?.ports.map(({ port }) => port);
};
const replicasOf = (object: KubernetesObject | undefined): number | undefined =>
  (object?.['spec'] as { replicas?: number } | undefined)?.replicas;
const foreignService = (world: ModelWorld): KubernetesObject =>
  world.api.create('user', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: SERVICE.name, namespace: 'userswarms' },
    spec: { type: 'ClusterIP', selector: { app: 'other' }, ports: [EDITED] },
  });

describe('Metacontroller with three-way apply (default)', () => {
  it('does not repair a manually edited port, because two ports would have the same name', async () => {
    const world = createWorld('three-way');
    await createRuntime(world);
    await world.waitFor(USER_SWARM, 'Ready', isReady);
    await world.patch(SERVICE, { spec: { ports: [EDITED] } });
    await world.pass(2 * world.resyncSeconds);
    expect(portsOf(world)).toEqual([EDITED.port]);
    expect(world.failures.at(-1)?.message).toContain('Duplicate value: "grpc"');
  });

  it('releases a child when its label controller-uid is removed, does not delete it, and adopts it when the label is back', async () => {
    const world = createWorld('three-way');
    await createRuntime(world);
    await world.waitFor(USER_SWARM, 'Ready', isReady);
    const { uid } = world.api.get(USER_SWARM)!.metadata;
    await world.patch(SERVICE, { metadata: { labels: { [LABEL.controllerUid]: null } } });
    await world.waitFor(SERVICE, 'released', (service) => (service?.metadata.ownerReferences ?? []).length === 0);
    await world.patch(SERVICE, { metadata: { labels: { [LABEL.controllerUid]: uid! } } });
    await world.waitFor(SERVICE, 'adopted', (service) => service?.metadata.ownerReferences?.[0]?.uid === uid);
    await world.patch(SERVICE, { metadata: { labels: { [LABEL.controllerUid]: null } } });
    await world.waitFor(SERVICE, 'released', (service) => (service?.metadata.ownerReferences ?? []).length === 0);
    await world.delete(USER_SWARM);
    await world.waitFor(USER_SWARM, 'deleted', (object) => object === undefined);
    await world.waitFor(DEPLOYMENT, 'deleted', (object) => object === undefined);
    expect(world.api.get(SERVICE)).toBeDefined();
  });

  it('does not change a foreign object that has the name of a child', async () => {
    const world = createWorld('three-way');
    const before = foreignService(world);
    await createRuntime(world);
    await world.pass(2 * world.resyncSeconds);
    expect(world.api.get(SERVICE)).toEqual(before);
  });
});

describe('Metacontroller with server-side apply (not supported)', () => {
  it('adopts a foreign object that has the name of a child, and deletes it with the UserSwarm', async () => {
    const world = createWorld('server-side');
    foreignService(world);
    await createRuntime(world);
    const { uid } = world.api.get(USER_SWARM)!.metadata;
    // Two ports with the same name would be rejected.
    await world.patch(SERVICE, { spec: { ports: [{ port: EDITED.port, targetPort: EDITED.port, protocol: 'TCP' }] } });
    await world.waitFor(SERVICE, 'adopted', (service) => service?.metadata.ownerReferences?.[0]?.uid === uid);
    await world.delete(USER_SWARM);
    await world.waitFor(SERVICE, 'deleted', (service) => service === undefined);
    expect(world.api.get(SERVICE)).toBeUndefined();
  });

  it('detects changes of a Deployment by its generation, and misses those of a Service, which has no generation', async () => {
    const world = createWorld('server-side');
    await createRuntime(world);
    await world.waitFor(USER_SWARM, 'Ready', isReady);
    await world.pass(2 * world.resyncSeconds);
    await world.patch(SERVICE, { spec: { selector: { stolen: 'yes' } } });
    await world.patch(DEPLOYMENT, { spec: { replicas: 3 } });
    await world.waitFor(DEPLOYMENT, 'repaired', (object) => replicasOf(object) === 1);
    await world.pass(2 * world.resyncSeconds);
    expect(world.api.get(SERVICE)?.['spec']).toMatchObject({ selector: { stolen: 'yes' } });
  });
});
