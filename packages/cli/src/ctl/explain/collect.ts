import {
  childName,
  DEFAULT_RUNTIME_NAMESPACE,
  type KubernetesObject,
  LABEL,
  runtimeSelector,
  type UserSwarm,
  USERSWARM_KIND,
  USERSWARMS,
} from '@uswarm/contract/userswarm';
import { isNotFound, type KubeClient, KubeError, type ListOptions, type Resource } from '@uswarm/kube-client';
import { Failure } from '../../failure.js';
import type { Deployment, Findings, Lease, Pod, Quota, RecordedEvent, Unreadable } from './objects.js';

const core = (plural: string, kind: string): Resource => ({ group: '', version: 'v1', plural, kind });
const DEPLOYMENTS: Resource = { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' };
const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease' };
const COMPOSITES: Resource = {
  group: 'metacontroller.k8s.io',
  version: 'v1alpha1',
  plural: 'compositecontrollers',
  kind: 'CompositeController',
};
const EVENTS = core('events', 'Event');
/** Events of objects without a namespace are kept there. */
const EVENTS_NAMESPACE = 'default';
const PLATFORM = `${LABEL.partOf}=uswarm,${LABEL.component} in (controller,webhook)`;

type Reader = Pick<KubeClient, 'get' | 'list'>;

/**
 * Reads a UserSwarm and its related objects. Objects other than the UserSwarm are optional: read errors are reported.
 *
 * @throws Failure when the UserSwarm does not exist or cannot be read
 */
export async function collectFindings(client: Reader, name: string): Promise<Findings> {
  const swarm = await readSwarm(client, name);
  const namespace = swarm.spec.placement?.runtimeNamespace ?? DEFAULT_RUNTIME_NAMESPACE;
  const unreadable: Unreadable[] = [];
  const { find, list } = lenient(client, unreadable);
  const child = { name: childName(name), namespace };
  const selector = Object.entries(runtimeSelector(name)).map(([label, value]) => `${label}=${value}`);
  const [serviceAccount, service, deployment, pods, quotas, platform] = await Promise.all([
    find('its ServiceAccount', core('serviceaccounts', 'ServiceAccount'), child),
    find('its Service', core('services', 'Service'), child),
    find('its Deployment', DEPLOYMENTS, child) as Promise<Deployment | undefined>,
    list('its pods', core('pods', 'Pod'), { namespace, labelSelector: selector.join(',') }) as Promise<Pod[]>,
    list('the quotas', core('resourcequotas', 'ResourceQuota'), { namespace }) as Promise<Quota[]>,
    list("uswarm's own Deployments", DEPLOYMENTS, { labelSelector: PLATFORM }) as Promise<Deployment[]>,
  ]);
  const about = (kind: string, object: string, where: string): Promise<KubernetesObject[]> =>
    list(`the Events of ${kind} ${object}`, EVENTS, {
      namespace: where,
      fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${object}`,
    });
  const events = await Promise.all([
    about(USERSWARM_KIND, name, EVENTS_NAMESPACE),
    about('Deployment', child.name, namespace),
    ...pods.map(({ metadata }) => about('Pod', metadata.name, namespace)),
  ]);
  const controller = platform.find(({ metadata }) => metadata.labels?.[LABEL.component] === 'controller');
  return {
    swarm,
    serviceAccount,
    service,
    deployment,
    pods,
    quotas,
    platform,
    events: events.flat() as RecordedEvent[],
    composite:
      controller === undefined
        ? await find('the CompositeController', COMPOSITES, { name: 'userswarm-controller' })
        : undefined,
    lease:
      controller === undefined
        ? undefined
        : ((await find("the controller's Lease", LEASES, controller.metadata)) as Lease | undefined),
    unreadable,
  };
}

async function readSwarm(client: Reader, name: string): Promise<UserSwarm> {
  try {
    return (await client.get(USERSWARMS, { name })) as unknown as UserSwarm;
  } catch (cause) {
    if (!(cause instanceof KubeError)) throw cause;
    if (isNotFound(cause)) {
      throw new Failure(cause.reason === 'NotFound' ? noSwarm(name) : NO_DEFINITION, { cause });
    }
    if (cause.status === 401) throw new Failure('The cluster does not know the user of the kubeconfig.', { cause });
    if (cause.status === 403) throw new Failure(`You may not read UserSwarms: ${cause.message}`, { cause });
    throw new Failure(`The cluster answers ${cause.status}: ${cause.message}`, { cause });
  }
}

const noSwarm = (name: string): string =>
  `There is no UserSwarm ${name}. The orchestrator makes one for each workspace that lives: ` +
  `see npm run ctl -- workspace show <id>, and the log of uswarm-orchestrator.`;
const NO_DEFINITION = 'This cluster has no UserSwarms at all: uswarm is not installed, or this is another cluster.';

/** Reads that note why there is nothing, in place of failing. */
function lenient(client: Reader, unreadable: Unreadable[]) {
  const note = (what: string, error: unknown): void => {
    if (!isNotFound(error)) unreadable.push({ what, why: error instanceof Error ? error.message : String(error) });
  };
  return {
    async find(what: string, resource: Resource, place: { name: string; namespace?: string | undefined }) {
      try {
        return await client.get(resource, place);
      } catch (error) {
        note(what, error);
        return undefined;
      }
    },
    async list(what: string, resource: Resource, options: ListOptions): Promise<KubernetesObject[]> {
      try {
        return (await client.list(resource, { ...options, limit: 500 })).items;
      } catch (error) {
        note(what, error);
        return [];
      }
    },
  };
}
