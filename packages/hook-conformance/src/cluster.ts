import type { KubernetesObject } from '@uswarm/kube-types';
import { FOREGROUND, type ModelApiServer } from './api-server.js';
import type { ManualClock } from './clock.js';
import { equal, wire } from './json.js';
import { controllerOf, isTerminating, refOf } from './objects.js';
import { type ImageBehaviour, podStatus, type PodEnvironment } from './pod-life.js';
import { storedQuantity } from './quantity.js';

/** Milliseconds that a pod takes to stop. */
const STOPPING_MS = 1_000;
const CPUS_OF_THE_NODE = 16;

interface DeploymentSpec {
  replicas: number;
  progressDeadlineSeconds: number;
  template: { metadata: { labels: Record<string, string> }; spec: object };
}

/** The built-in controllers and one kubelet, as far as runtimes depend on them. */
export class ModelCluster {
  readonly #api: ModelApiServer;
  readonly #clock: ManualClock;
  readonly #images: ReadonlyMap<string, ImageBehaviour>;
  /** By uid, in clock milliseconds. */
  readonly #born = new Map<string, number>();
  readonly #stopping = new Map<string, number>();
  #podNumber = 0;

  constructor(api: ModelApiServer, clock: ManualClock, images: ReadonlyMap<string, ImageBehaviour>) {
    this.#api = api;
    this.#clock = clock;
    this.#images = images;
  }

  /** Runs each controller once. */
  step(): void {
    for (const namespace of this.#api.list('Namespace').filter(isTerminating)) this.#emptyNamespace(namespace);
    this.#collectGarbage();
    // A quota applies after its status is set.
    for (const quota of this.#api.list('ResourceQuota')) this.#write(quota, { hard: hardOf(quota['spec']) });
    for (const deployment of this.#api.list('Deployment')) this.#roll(deployment);
    for (const pod of this.#api.list('Pod')) this.#live(pod);
    for (const deployment of this.#api.list('Deployment')) this.#report(deployment);
  }

  #collectGarbage(): void {
    const kinds = ['UserSwarm', 'Deployment', 'Service', 'ServiceAccount', 'Pod'];
    const objects = kinds.flatMap((kind) => this.#api.list(kind));
    const alive = new Set(objects.map(({ metadata }) => metadata.uid));
    for (const object of objects) {
      const owner = controllerOf(object);
      if (owner !== undefined && !alive.has(owner) && !isTerminating(object))
        this.#api.delete('garbage', refOf(object));
      if (!(object.metadata.finalizers ?? []).includes(FOREGROUND)) continue;
      const dependents = this.#api.ownedBy(object.metadata.uid);
      for (const dependent of dependents.filter((one) => !isTerminating(one))) {
        this.#api.delete('garbage', refOf(dependent));
      }
      if (dependents.length === 0) this.#dropFinalizer(object, FOREGROUND);
    }
  }

  #emptyNamespace(namespace: KubernetesObject): void {
    const kinds = ['Deployment', 'Service', 'ServiceAccount', 'Secret', 'ResourceQuota', 'Pod'];
    const inside = kinds
      .flatMap((kind) => this.#api.list(kind))
      .filter(({ metadata }) => metadata.namespace === namespace.metadata.name);
    for (const object of inside.filter((one) => !isTerminating(one))) this.#api.delete('namespaces', refOf(object));
    if (inside.length === 0) this.#dropFinalizer(namespace, NAMESPACE_FINALIZER);
  }

  #dropFinalizer(object: KubernetesObject, finalizer: string): void {
    const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
    this.#api.update('garbage', { ...object, metadata: { ...object.metadata, finalizers } });
  }

  /** The Deployment controller with strategy Recreate: creates a pod after the old ones are deleted. */
  #roll(deployment: KubernetesObject): void {
    if (isTerminating(deployment)) return;
    const spec = deployment['spec'] as unknown as DeploymentSpec;
    const pods = this.#api.ownedBy(deployment.metadata.uid);
    const current = pods.filter((pod) => isOf(pod, spec));
    const surplus = pods.filter((pod) => !isOf(pod, spec)).concat(current.slice(spec.replicas));
    for (const pod of surplus.filter((one) => !isTerminating(one))) this.#api.delete('deployments', refOf(pod));
    if (pods.length > 0 || spec.replicas === 0 || this.#quota(deployment) !== undefined) return;
    if (isTerminating(this.#namespaceOf(deployment))) return;
    this.#podNumber += 1;
    const { name, namespace = '', uid = '' } = deployment.metadata;
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name, uid, controller: true, blockOwnerDeletion: true };
    const pod = this.#api.create('deployments', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${name}-${this.#podNumber}`,
        namespace,
        labels: spec.template.metadata.labels,
        ownerReferences: [owner],
      },
      spec: spec.template.spec,
    });
    this.#born.set(pod.metadata.uid ?? '', this.#clock.elapsed());
  }

  #namespaceOf({ metadata: { namespace = '' } }: KubernetesObject): KubernetesObject {
    const found = this.#api.get({ kind: 'Namespace', name: namespace });
    if (found === undefined) throw new Error(`an object in the namespace ${namespace}, which does not exist`);
    return found;
  }

  /** A quota that allows no pods, or undefined. */
  #quota({ metadata: { namespace } }: KubernetesObject): string | undefined {
    return this.#api.list('ResourceQuota').find((quota) => {
      return quota.metadata.namespace === namespace && hardOf(quota['status'])['pods'] === '0';
    })?.metadata.name;
  }

  #live(pod: KubernetesObject): void {
    const { uid = '' } = pod.metadata;
    if (isTerminating(pod)) {
      const since = this.#stopping.get(uid) ?? this.#clock.elapsed();
      this.#stopping.set(uid, since);
      if (this.#clock.elapsed() - since >= STOPPING_MS) this.#api.remove(refOf(pod));
      return;
    }
    const age = (this.#clock.elapsed() - (this.#born.get(uid) ?? 0)) / 1_000;
    this.#write(pod, podStatus(pod, age, this.#podEnvironment()));
  }

  #podEnvironment(): PodEnvironment {
    return {
      image: (name) => this.#images.get(name) ?? 'missing',
      secretExists: (namespace, name) => this.#api.get({ kind: 'Secret', namespace, name }) !== undefined,
      fits: (cpu) =>
        Number.parseFloat(storedQuantity(cpu)) * (storedQuantity(cpu).endsWith('m') ? 0.001 : 1) <= CPUS_OF_THE_NODE,
    };
  }

  #report(deployment: KubernetesObject): void {
    if (isTerminating(deployment)) return;
    const spec = deployment['spec'] as unknown as DeploymentSpec;
    const pods = this.#api.ownedBy(deployment.metadata.uid).filter((pod) => !isTerminating(pod));
    const ready = pods.filter(isReady).length;
    const refused = pods.length === 0 && spec.replicas > 0 ? this.#quota(deployment) : undefined;
    const youngest = Math.max(0, ...pods.map(({ metadata }) => this.#born.get(metadata.uid ?? '') ?? 0));
    const late = pods.length > 0 && this.#clock.elapsed() - youngest > spec.progressDeadlineSeconds * 1_000;
    this.#write(deployment, {
      observedGeneration: deployment.metadata.generation,
      ...(pods.length === 0
        ? {}
        : { replicas: pods.length, updatedReplicas: pods.filter((pod) => isOf(pod, spec)).length }),
      ...(ready === 0 ? { unavailableReplicas: spec.replicas } : { readyReplicas: ready, availableReplicas: ready }),
      conditions: conditionsOf(deployment.metadata.name, ready >= spec.replicas, late, refused),
    });
  }

  #write(object: KubernetesObject, status: object): void {
    if (!equal(object['status'], wire(status))) this.#api.updateStatus('cluster', refOf(object), status);
  }
}

/** Keeps a namespace until it is empty. */
export const NAMESPACE_FINALIZER = 'kubernetes';

const hardOf = (limits: unknown): Record<string, string> =>
  (limits as { hard?: Record<string, string> } | undefined)?.hard ?? {};

const isOf = (pod: KubernetesObject, { template }: DeploymentSpec): boolean =>
  equal(pod['spec'], template.spec) && equal(pod.metadata.labels, template.metadata.labels);

const isReady = (pod: KubernetesObject): boolean =>
  ((pod['status'] as { containerStatuses?: { ready: boolean }[] } | undefined)?.containerStatuses ?? []).some(
    ({ ready }) => ready,
  );

function conditionsOf(name: string, available: boolean, late: boolean, quota: string | undefined): object[] {
  const progressing = late && !available;
  return [
    { type: 'Available', status: available ? 'True' : 'False' },
    progressing
      ? { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }
      : { type: 'Progressing', status: 'True', reason: available ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated' },
    ...(quota === undefined
      ? []
      : [
          {
            type: 'ReplicaFailure',
            status: 'True',
            reason: 'FailedCreate',
            message: `pods "${name}-x7k2p" is forbidden: exceeded quota: ${quota}, requested: pods=1, used: pods=0, limited: pods=0`,
          },
        ]),
  ];
}
