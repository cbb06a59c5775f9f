import type { KubernetesObject } from '@uswarm/kube-types';
import type { JsonObject } from '../json.js';
import type { Ref } from '../objects.js';
import type { World } from '../world.js';
import {
  childRef,
  waitUntilDeleted,
  waitForPhase,
  deleteAndWait,
  expectSame,
  type Scenario,
  SHOWN_WITHIN_S,
  swarmRef,
  userSwarm,
} from './scenario.js';

/** A crash loop and a memory limit are visible after a few starts. */
const AFTER_SOME_STARTS_S = 60;

/** A spec that cannot become Ready shows the reason, and becomes Ready after a correction. */
const recovers = (
  name: string,
  reason: string,
  spec: (world: World) => JsonObject,
  seconds = SHOWN_WITHIN_S,
): Scenario => ({
  name,
  needs: ['pods', 'reasons'],
  async run(world, swarm) {
    await world.apply(userSwarm(world, swarm, spec(world)));
    await waitForPhase(world, swarm, 'Progressing', reason, seconds);
    await world.apply(userSwarm(world, swarm, { runtime: { image: world.images.good } }));
    await waitForPhase(world, swarm, 'Ready');
    await deleteAndWait(world, swarm);
  },
});

const object = (kind: string, namespace: string, name: string, content: JsonObject = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace },
  ...content,
});

export const causeScenarios: readonly Scenario[] = [
  recovers('an image that does not exist shows ImagePullBackOff', 'ImagePullBackOff', ({ images }) => ({
    runtime: { image: images.missing },
  })),
  recovers(
    'a program that exits shows CrashLoopBackOff',
    'CrashLoopBackOff',
    ({ images }) => ({ runtime: { image: images.crashing } }),
    AFTER_SOME_STARTS_S,
  ),
  recovers(
    'a program above its memory limit shows OOMKilled',
    'OOMKilled',
    ({ images }) => ({ runtime: { image: images.hungry, resources: { limits: { memory: '16Mi' } } } }),
    AFTER_SOME_STARTS_S,
  ),
  recovers('a request that fits on no node shows Unschedulable', 'Unschedulable', ({ images }) => ({
    runtime: { image: images.good, resources: { requests: { cpu: '900' } } },
  })),
  {
    name: 'a missing Secret shows SecretMissing until it exists',
    needs: ['pods', 'reasons'],
    async run(world, name) {
      const secret = object('Secret', world.namespace, `${name}-env`);
      await world.apply(userSwarm(world, name, { config: { envSecretRef: { name: secret.metadata.name } } }));
      await waitForPhase(world, name, 'Progressing', 'SecretMissing', SHOWN_WITHIN_S);
      await world.apply(secret);
      await waitForPhase(world, name, 'Ready');
      await deleteAndWait(world, name);
      await world.delete({ kind: 'Secret', namespace: world.namespace, name: secret.metadata.name });
    },
  },
  {
    name: 'a foreign object with the same name shows NameConflict and is not changed',
    needs: ['pods', 'reasons'],
    async run(world, name) {
      const ref: Ref = childRef('ServiceAccount', world.namespace, name);
      await world.apply(object('ServiceAccount', world.namespace, ref.name, { automountServiceAccountToken: true }));
      const before = await world.get(ref);
      await world.apply(userSwarm(world, name));
      await waitForPhase(world, name, 'Progressing', 'NameConflict', SHOWN_WITHIN_S);
      expectSame('the foreign object', before, await world.get(ref));
      await world.delete(ref);
      await waitForPhase(world, name, 'Ready');
      await deleteAndWait(world, name);
    },
  },
  {
    name: 'a foreign object remains after the UserSwarm with the same name is deleted',
    needs: ['pods', 'reasons'],
    async run(world, name) {
      const ref: Ref = childRef('Service', world.namespace, name);
      const spec = { ports: [{ name: 'other', port: 80 }] };
      await world.apply(object('Service', world.namespace, ref.name, { spec }));
      await world.apply(userSwarm(world, name));
      await waitForPhase(world, name, 'Progressing', 'NameConflict', SHOWN_WITHIN_S);
      await world.delete(swarmRef(name));
      await waitUntilDeleted(world, swarmRef(name));
      if ((await world.get(ref)) === undefined) throw new Error('the foreign Service was deleted');
      await world.delete(ref);
    },
  },
  {
    name: 'a missing namespace shows NamespaceMissing until it exists, and again after its deletion',
    needs: ['pods', 'reasons', 'namespaces'],
    async run(world, name) {
      const namespace = world.spareNamespace;
      await world.apply(userSwarm(world, name, { placement: { runtimeNamespace: namespace } }));
      await waitForPhase(world, name, 'Progressing', 'NamespaceMissing', SHOWN_WITHIN_S);
      await world.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      await waitForPhase(world, name, 'Ready');
      await world.delete({ kind: 'Namespace', name: namespace });
      await waitForPhase(world, name, 'Progressing', 'NamespaceMissing');
      await deleteAndWait(world, name, namespace);
      await waitUntilDeleted(world, { kind: 'Namespace', name: namespace });
    },
  },
  {
    name: 'an exhausted quota shows QuotaExceeded until it allows a pod',
    needs: ['pods', 'reasons', 'namespaces'],
    async run(world, name) {
      const namespace = world.spareNamespace;
      await world.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      const quota = { kind: 'ResourceQuota', namespace, name: 'none' };
      await world.apply(object(quota.kind, namespace, quota.name, { spec: { hard: { pods: '0' } } }));
      await world.waitFor(
        quota,
        'counted',
        (seen) => (seen?.['status'] as { hard?: object } | undefined)?.hard !== undefined,
      );
      await world.apply(userSwarm(world, name, { placement: { runtimeNamespace: namespace } }));
      await waitForPhase(world, name, 'Progressing', 'QuotaExceeded', SHOWN_WITHIN_S);
      await world.delete(quota);
      await waitForPhase(world, name, 'Ready');
      await deleteAndWait(world, name, namespace);
      await world.delete({ kind: 'Namespace', name: namespace });
      await waitUntilDeleted(world, { kind: 'Namespace', name: namespace });
    },
  },
];
