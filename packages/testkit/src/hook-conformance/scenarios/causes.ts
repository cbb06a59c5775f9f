import type { KubernetesObject } from '@uswarm/contract/userswarm';
import type { JsonObject } from '../json.js';
import type { Ref } from '../objects.js';
import type { World } from '../world.js';
import {
  childRef,
  isGone,
  reaches,
  removed,
  same,
  type Scenario,
  SHOWN_WITHIN_S,
  swarmRef,
  userSwarm,
} from './scenario.js';

/** A crash loop and a memory limit take a few starts to tell. */
const AFTER_SOME_STARTS_S = 60;

/** A spec that cannot become Ready shows why, and is Ready once it is put right. */
const broken = (
  name: string,
  reason: string,
  spec: (world: World) => JsonObject,
  seconds = SHOWN_WITHIN_S,
): Scenario => ({
  name,
  needs: ['pods', 'reasons'],
  async run(world, swarm) {
    await world.apply(userSwarm(world, swarm, spec(world)));
    await reaches(world, swarm, 'Progressing', reason, seconds);
    await world.apply(userSwarm(world, swarm, { runtime: { image: world.images.good } }));
    await reaches(world, swarm, 'Ready');
    await removed(world, swarm);
  },
});

const object = (kind: string, namespace: string, name: string, content: JsonObject = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace },
  ...content,
});

export const causeScenarios: readonly Scenario[] = [
  broken('image that does not exist → ImagePullBackOff', 'ImagePullBackOff', ({ images }) => ({
    runtime: { image: images.missing },
  })),
  broken(
    'program that stops → CrashLoopBackOff',
    'CrashLoopBackOff',
    ({ images }) => ({ runtime: { image: images.crashing } }),
    AFTER_SOME_STARTS_S,
  ),
  broken(
    'more memory than the limit → OOMKilled',
    'OOMKilled',
    ({ images }) => ({ runtime: { image: images.hungry, resources: { limits: { memory: '16Mi' } } } }),
    AFTER_SOME_STARTS_S,
  ),
  broken('no node with room → Unschedulable', 'Unschedulable', ({ images }) => ({
    runtime: { image: images.good, resources: { requests: { cpu: '900' } } },
  })),
  {
    name: 'missing Secret → SecretMissing until it is there',
    needs: ['pods', 'reasons'],
    async run(world, name) {
      const secret = object('Secret', world.namespace, `${name}-env`);
      await world.apply(userSwarm(world, name, { config: { envSecretRef: { name: secret.metadata.name } } }));
      await reaches(world, name, 'Progressing', 'SecretMissing', SHOWN_WITHIN_S);
      await world.apply(secret);
      await reaches(world, name, 'Ready');
      await removed(world, name);
      await world.delete({ kind: 'Secret', namespace: world.namespace, name: secret.metadata.name });
    },
  },
  {
    name: 'foreign object of the same name → NameConflict, and it stays as it is',
    needs: ['pods', 'reasons'],
    async run(world, name) {
      const ref: Ref = childRef('ServiceAccount', world.namespace, name);
      await world.apply(object('ServiceAccount', world.namespace, ref.name, { automountServiceAccountToken: true }));
      const before = await world.get(ref);
      await world.apply(userSwarm(world, name));
      await reaches(world, name, 'Progressing', 'NameConflict', SHOWN_WITHIN_S);
      same('the foreign object', before, await world.get(ref));
      await world.delete(ref);
      await reaches(world, name, 'Ready');
      await removed(world, name);
    },
  },
  {
    name: 'a foreign object survives the UserSwarm that wanted its name',
    needs: ['pods', 'reasons'],
    async run(world, name) {
      const ref: Ref = childRef('Service', world.namespace, name);
      const spec = { ports: [{ name: 'other', port: 80 }] };
      await world.apply(object('Service', world.namespace, ref.name, { spec }));
      await world.apply(userSwarm(world, name));
      await reaches(world, name, 'Progressing', 'NameConflict', SHOWN_WITHIN_S);
      await world.delete(swarmRef(name));
      await isGone(world, swarmRef(name));
      if ((await world.get(ref)) === undefined) throw new Error('the foreign Service was deleted');
      await world.delete(ref);
    },
  },
  {
    name: 'no namespace → NamespaceMissing until it is there; deleted with it',
    needs: ['pods', 'reasons', 'namespaces'],
    async run(world, name) {
      const namespace = world.spareNamespace;
      await world.apply(userSwarm(world, name, { placement: { runtimeNamespace: namespace } }));
      await reaches(world, name, 'Progressing', 'NamespaceMissing', SHOWN_WITHIN_S);
      await world.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      await reaches(world, name, 'Ready');
      await world.delete({ kind: 'Namespace', name: namespace });
      await reaches(world, name, 'Progressing', 'NamespaceMissing');
      await removed(world, name, namespace);
      await isGone(world, { kind: 'Namespace', name: namespace });
    },
  },
  {
    name: 'quota used up → QuotaExceeded until there is room',
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
      await reaches(world, name, 'Progressing', 'QuotaExceeded', SHOWN_WITHIN_S);
      await world.delete(quota);
      await reaches(world, name, 'Ready');
      await removed(world, name, namespace);
      await world.delete({ kind: 'Namespace', name: namespace });
      await isGone(world, { kind: 'Namespace', name: namespace });
    },
  },
];
