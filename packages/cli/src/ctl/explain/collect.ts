import {
  childName,
  DEFAULT_RUNTIME_NAMESPACE,
  LABEL,
  runtimeSelector,
  type UserSwarm,
  USERSWARM_KIND,
  USERSWARMS,
} from '@uswarm/contract/userswarm';
import {
  isNotFound,
  type KubeClient,
  KubeError,
  type KubernetesObject,
  type ListOptions,
  type Resource,
} from '@uswarm/kube-client';
import { Failure } from '../../failure.js';
import {
  type Deployment,
  type Findings,
  type Lease,
  type Pod,
  PLATFORM_DEPLOYMENTS,
  type Quota,
  type RecordedEvent,
  type Unreadable,
} from './objects.js';

const core = (plural: string, kind: string): Resource => ({ group: '', version: 'v1', plural, kind });
const DEPLOYMENTS: Resource = { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' };
const REPLICA_SETS: Resource = { group: 'apps', version: 'v1', plural: 'replicasets', kind: 'ReplicaSet' };
const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease' };
const COMPOSITES: Resource = {
  group: 'metacontroller.k8s.io',
  version: 'v1alpha1',
  plural: 'compositecontrollers',
  kind: 'CompositeController',
};
const EVENTS = core('events', 'Event');
/** Namespace for Events about cluster-scoped objects. */
const EVENTS_NAMESPACE = 'default';
const PLATFORM = `${LABEL.partOf}=uswarm,${LABEL.component} in (controller,webhook)`;

type Reader = Pick<KubeClient, 'get' | 'list'>;

/**
 * Reads a UserSwarm and its related objects. Objects other than the UserSwarm are optional: read errors are reported.
 *
 * @param platformNamespace the release's namespace. Default: all, which needs rights in all namespaces
 * @throws Failure when the UserSwarm does not exist or cannot be read
 */
export async function collectFindings(client: Reader, name: string, platformNamespace?: string): Promise<Findings> {
  const swarm = await readSwarm(client, name);
  const namespace = swarm.spec.placement?.runtimeNamespace ?? DEFAULT_RUNTIME_NAMESPACE;
  const unreadable: Unreadable[] = [];
  const { find, list } = tolerantReader(client, unreadable);
  const child = { name: childName(name), namespace };
  const labels = Object.entries(runtimeSelector(name)).map(([label, value]) => `${label}=${value}`);
  const selected = { namespace, labelSelector: labels.join(',') };
  const [serviceAccount, service, deployment, replicaSets, pods, quotas, platform] = await Promise.all([
    find('ServiceAccount', core('serviceaccounts', 'ServiceAccount'), child),
    find('Service', core('services', 'Service'), child),
    find('Deployment', DEPLOYMENTS, child) as Promise<Deployment | undefined>,
    list('ReplicaSets', REPLICA_SETS, selected),
    list('Pods', core('pods', 'Pod'), selected) as Promise<Pod[]>,
    list('ResourceQuotas', core('resourcequotas', 'ResourceQuota'), { namespace }) as Promise<Quota[]>,
    list(PLATFORM_DEPLOYMENTS, DEPLOYMENTS, {
      namespace: platformNamespace,
      labelSelector: PLATFORM,
    }) as Promise<Deployment[]>,
  ]);
  const eventsOf = (kind: string, object: string, eventNamespace: string): Promise<KubernetesObject[]> =>
    list(`Events of ${kind} ${object}`, EVENTS, {
      namespace: eventNamespace,
      fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${object}`,
    });
  const events = await Promise.all([
    eventsOf(USERSWARM_KIND, name, EVENTS_NAMESPACE),
    eventsOf('Deployment', child.name, namespace),
    ...replicaSets.map(({ metadata }) => eventsOf('ReplicaSet', metadata.name, namespace)),
    ...pods.map(({ metadata }) => eventsOf('Pod', metadata.name, namespace)),
  ]);
  const knowsPlatform = !unreadable.some(({ what }) => what === PLATFORM_DEPLOYMENTS);
  const controller = platform.find(({ metadata }) => metadata.labels?.[LABEL.component] === 'controller');
  return {
    swarm,
    serviceAccount,
    service,
    deployment,
    replicaSets,
    pods,
    quotas,
    platform,
    events: events.flat() as RecordedEvent[],
    composite:
      controller === undefined && knowsPlatform
        ? await find('CompositeController', COMPOSITES, { name: 'userswarm-controller' })
        : undefined,
    lease:
      controller === undefined
        ? undefined
        : ((await find('Lease of the controller', LEASES, controller.metadata)) as Lease | undefined),
    unreadable,
  };
}

async function readSwarm(client: Reader, name: string): Promise<UserSwarm> {
  try {
    return (await client.get(USERSWARMS, { name })) as unknown as UserSwarm;
  } catch (cause) {
    if (!(cause instanceof KubeError)) throw cause;
    if (isNotFound(cause)) {
      throw new Failure(cause.reason === 'NotFound' ? notFound(name) : NO_CRD, { cause });
    }
    if (cause.status === 401) throw new Failure('The cluster rejected the credentials of the kubeconfig.', { cause });
    if (cause.status === 403) throw new Failure(`You are not allowed to read UserSwarms: ${cause.message}`, { cause });
    throw new Failure(`The API server returned ${cause.status}: ${cause.message}`, { cause });
  }
}

const notFound = (name: string): string =>
  `UserSwarm ${name} not found. The orchestrator creates one per workspace: ` +
  `see uswarmctl workspace show <id>, and the log of uswarm-orchestrator.`;
const NO_CRD = 'The CRD UserSwarm is not installed. Install uswarm, or select another cluster.';

/** Reads that record errors in `unreadable` instead of throwing. */
function tolerantReader(client: Reader, unreadable: Unreadable[]) {
  const record = (what: string, error: unknown): void => {
    if (!isNotFound(error)) unreadable.push({ what, why: error instanceof Error ? error.message : String(error) });
  };
  return {
    async find(what: string, resource: Resource, key: { name: string; namespace?: string | undefined }) {
      try {
        return await client.get(resource, key);
      } catch (error) {
        record(what, error);
        return undefined;
      }
    },
    async list(what: string, resource: Resource, options: ListOptions): Promise<KubernetesObject[]> {
      try {
        return (await client.list(resource, { ...options, limit: 500 })).items;
      } catch (error) {
        record(what, error);
        return [];
      }
    },
  };
}
