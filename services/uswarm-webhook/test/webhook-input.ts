import {
  type ChildGroup,
  type Condition,
  runtimeSelector,
  type SyncRequest,
  type UserSwarm,
  UserSwarmSpec,
} from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { withServerDefaults } from '@uswarm/hook-conformance';
import { runtimePods } from '../src/config/runtime-pods.js';
import { platformRevision } from '../src/render/platform-revision.js';
import { render } from '../src/render/render.js';
import type { RenderFacts, RenderSettings, TemplateSettings } from '../src/render/settings.js';

/** A fixed key, because the golden files contain it. */
export const CALL_KEY = [
  '-----BEGIN PUBLIC KEY-----',
  'MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=',
  '-----END PUBLIC KEY-----',
  '',
].join('\n');

export function testSettings(overrides: Partial<RenderSettings> = {}): RenderSettings {
  const settings: TemplateSettings = {
    image: 'registry.test/runtime:1',
    orchestratorEndpoint: 'http://uswarm-orchestrator.backend.svc:8082',
    mcpEndpoint: 'http://uswarm-searxng-client.backend.svc:8080/mcp',
    modelGateway: undefined,
    callPublicKey: CALL_KEY,
    stores: [],
    pods: runtimePods.parse({}),
    policy: {
      runtimeNamespaces: new Set(['userswarms', 'userswarms-spare']),
      imagePrefixes: ['registry.test/'],
      sharedEnvSecrets: new Set(['uswarm-model-env']),
      maxResources: {},
    },
    ...overrides,
  };
  return {
    platformRevision: platformRevision(settings),
    rolloutGate: true,
    providers: new Set(['demo', 'openai']),
    ...settings,
  };
}

export const testFacts = async (overrides: Partial<RenderFacts> = {}): Promise<RenderFacts> => ({
  database: 'unset',
  now: new Date('2030-01-01T00:00:00Z'),
  ...overrides,
});

/** A UserSwarm as the API server stores it, with the schema's defaults. */
export const userSwarm = (spec: Record<string, unknown> = {}, name = 'workspace-a'): UserSwarm => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name, uid: 'uid-of-the-userswarm', generation: 3 },
  spec: UserSwarmSpec.parse({ userId: 'user-1', ...spec }),
});

export const syncRequest = (parent: UserSwarm, rest: Partial<SyncRequest> = {}): SyncRequest => ({
  controller: {
    apiVersion: 'metacontroller.k8s.io/v1alpha1',
    kind: 'CompositeController',
    metadata: { name: 'userswarm-controller' },
  },
  parent,
  children: { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} },
  related: {},
  finalizing: false,
  ...rest,
});

/** The rendered children as stored by the API server: with owner references and default values. */
function observedChildren(parent: UserSwarm, children: readonly object[]): SyncRequest['children'] {
  const groups: SyncRequest['children'] = { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} };
  for (const child of children as KubernetesObject[]) {
    const { name, uid = '' } = parent.metadata;
    const owner = {
      apiVersion: parent.apiVersion,
      kind: parent.kind,
      name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    const observed = withServerDefaults({
      ...child,
      metadata: { ...child.metadata, uid: `uid-of-${child.kind}`, generation: 1, ownerReferences: [owner] },
    });
    groups[GROUPS[child.kind]!][`${child.metadata.namespace}/${child.metadata.name}`] = observed;
  }
  return groups;
}

const GROUPS: Readonly<Record<string, ChildGroup>> = {
  ServiceAccount: 'ServiceAccount.v1',
  Service: 'Service.v1',
  Deployment: 'Deployment.apps/v1',
};

/** Status of a Deployment whose one pod is ready. */
const READY = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1 };

export interface World {
  deployment?: Record<string, unknown>;
  pods?: KubernetesObject[];
  namespaces?: string[];
  conditions?: Condition[];
}

/** A request for a UserSwarm whose children exist, in the state of `world`. */
export async function settledRequest(parent: UserSwarm, world: World = {}): Promise<SyncRequest> {
  const { children } = render(syncRequest(parent), testSettings(), await testFacts());
  const observed = observedChildren(parent, children);
  for (const deployment of Object.values(observed['Deployment.apps/v1']))
    deployment['status'] = world.deployment ?? READY;
  const byName = (objects: KubernetesObject[]): Record<string, KubernetesObject> =>
    Object.fromEntries(objects.map((object) => [object.metadata.name, object]));
  return syncRequest(
    world.conditions === undefined ? parent : { ...parent, status: { conditions: world.conditions } },
    {
      children: observed,
      related: {
        'Pod.v1': byName(world.pods ?? []),
        'Namespace.v1': byName(
          (world.namespaces ?? ['userswarms']).map((name) => ({
            apiVersion: 'v1',
            kind: 'Namespace',
            metadata: { name },
          })),
        ),
      },
    },
  );
}

/** A runtime pod with this container status. */
export const pod = (container: object, rest: { metadata?: object; conditions?: object[] } = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'agent-runtime-workspace-a-1',
    namespace: 'userswarms',
    labels: runtimeSelector('workspace-a'),
    ...rest.metadata,
  },
  status: {
    conditions: rest.conditions ?? [],
    containerStatuses: [{ name: 'agent-runtime', ready: false, ...container }],
  },
});
