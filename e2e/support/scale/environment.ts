import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { freePort } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { loadKubeConfig } from '../kube-api.js';
import { throwawayCrd } from '../throwaway-crd.js';
import { createScaleApi, forAll, type ScaleApi } from './api.js';
import { type SimulatedNodes, simulateNodes } from './nodes.js';
import { type RunningService, startService } from './processes.js';

export interface Target {
  kubeconfig: string;
  context: string;
}

/** A separate kind, namespace and nodes, with the controller and the webhook as local processes. */
export interface ScaleEnvironment {
  api: ScaleApi;
  /** The controller's user name. */
  user: string;
  /** Collection paths. */
  paths: Record<'swarms' | 'accounts' | 'services' | 'deployments' | 'replicaSets' | 'pods', string>;
  nodes: SimulatedNodes;
  webhook: RunningService;
  /** @param resyncS seconds */
  startController(resyncS: number): Promise<RunningService>;
  /** Creates `workspace-<index>`, starting with 0. */
  create(count: number): Promise<void>;
  /** Deletes all UserSwarms. */
  deleteAll(): Promise<void>;
  close(): Promise<void>;
}

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const SYNC_TOKEN = randomBytes(24).toString('hex');
/** Concurrent requests: more than the controller's concurrency, so that creation is not the bottleneck. */
const CREATE_CONCURRENCY = 24;

const built = (file: string): string => path.resolve(import.meta.dirname, '../../..', file);

/** @param folder for logs and process configuration */
export async function openScaleEnvironment(target: Target, folder: string): Promise<ScaleEnvironment> {
  const id = randomBytes(4).toString('hex');
  const group = `scale-${id}.uswarm.test`;
  const names = { group, namespace: `uswarm-scale-${id}`, user: `uswarm-scale-${id}` };
  await mkdir(folder, { recursive: true });
  const config = contextAlone(target);
  const api = await createScaleApi(config);
  const closing: (() => Promise<unknown>)[] = [() => api.close()];
  const close = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (const step of closing.splice(0).toReversed()) await step().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw new AggregateError(errors, 'cleanup failed');
  };
  try {
    const paths = await prepareCluster(api, names, closing);
    await untilOwning(config, names);
    const nodes = await simulateNodes({ api, config, id, folder }, closing);
    const { webhook, syncUrl } = await startWebhook(names.namespace, nodes, folder);
    closing.push(() => webhook.stop());
    return {
      api,
      user: names.user,
      paths,
      nodes,
      webhook,
      async startController(resyncS) {
        const env = {
          SCALE_KUBECONFIG: target.kubeconfig,
          SCALE_CONTEXT: target.context,
          SCALE_USER: names.user,
          SCALE_GROUP: group,
          SCALE_NAMESPACE: names.namespace,
          SCALE_RESYNC: `${resyncS}`,
          SYNC_URL: syncUrl,
          SYNC_TOKEN,
          // As in its image.
          NODE_OPTIONS: '--max-semi-space-size=16',
        };
        const script = built('e2e/dist/scale/controller-main.js');
        const controller = await startService(script, env, path.join(folder, 'controller.log'));
        closing.push(() => controller.stop());
        return controller;
      },
      create: (count) =>
        forAll([...Array(count).keys()], CREATE_CONCURRENCY, (at) =>
          api.call('POST', paths.swarms, {
            apiVersion: `${group}/v1alpha1`,
            kind: 'UserSwarm',
            metadata: { name: `workspace-${at}` },
            spec: { userId: `user-${at}`, placement: { runtimeNamespace: names.namespace } },
          }),
        ),
      deleteAll: () => deleteSwarms(api, paths.swarms),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** kwok uses only a file's current context. */
function contextAlone(target: Target): KubeConfig {
  const config = loadKubeConfig(target);
  config.contexts = config.contexts.filter(({ name }) => name === target.context);
  return config;
}

interface Names {
  group: string;
  namespace: string;
  user: string;
}

/** Creates the kind, the namespace and the controller's rights, and registers their cleanup. */
async function prepareCluster(
  api: ScaleApi,
  { group, namespace, user }: Names,
  closing: (() => Promise<unknown>)[],
): Promise<ScaleEnvironment['paths']> {
  const swarms = `/apis/${group}/v1alpha1/userswarms`;
  await api.call('POST', CRDS, await throwawayCrd(group));
  closing.push(() => api.call('DELETE', `${CRDS}/userswarms.${group}`));
  closing.push(() => releaseSwarms(api, swarms));
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const core = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } };
  await api.call('POST', '/api/v1/namespaces', core);
  closing.push(() => api.call('DELETE', `/api/v1/namespaces/${namespace}`));
  await api.call('POST', `${RBAC}/clusterroles`, { metadata: { name: user }, rules: rules(group) });
  closing.push(() => api.call('DELETE', `${RBAC}/clusterroles/${user}`));
  await api.call('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  });
  closing.push(() => api.call('DELETE', `${RBAC}/clusterrolebindings/${user}`));
  await eventually(() => api.list(swarms), { description: 'the kind of this run is served', timeoutMs: 30_000 });
  const within = (prefix: string, plural: string): string => `${prefix}/namespaces/${namespace}/${plural}`;
  return {
    swarms,
    accounts: within('/api/v1', 'serviceaccounts'),
    services: within('/api/v1', 'services'),
    deployments: within('/apis/apps/v1', 'deployments'),
    replicaSets: within('/apis/apps/v1', 'replicasets'),
    pods: within('/api/v1', 'pods'),
  };
}

/**
 * Waits until UserSwarms can be owners: the admission plugin for owner references observes a new kind with a delay.
 * Runs as the controller's user, because the plugin ignores administrators.
 */
async function untilOwning(config: KubeConfig, { group, namespace, user }: Names): Promise<void> {
  const api = await createScaleApi(config, user);
  const name = 'workspace-owner';
  const owner = { apiVersion: `${group}/v1alpha1`, kind: 'UserSwarm', name, uid: name, blockOwnerDeletion: true };
  const account = { metadata: { name: 'owned', ownerReferences: [owner] } };
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts?dryRun=All`;
  try {
    await eventually(() => api.call('POST', accounts, account), {
      description: 'admission knows the kind',
      timeoutMs: 60_000,
    });
  } finally {
    await api.close();
  }
}

/** The rights that the chart grants the controller. */
const rules = (group: string): object[] => [
  { apiGroups: [group], resources: ['userswarms'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [group], resources: ['userswarms/status', 'userswarms/finalizers'], verbs: ['update'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'delete'] },
  { apiGroups: ['apps'], resources: ['replicasets'], verbs: ['delete'] },
  {
    apiGroups: ['', 'apps'],
    resources: ['serviceaccounts', 'services', 'deployments'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch', 'list'] },
];

/** Deletes single objects: the API server exceeds its one-minute timeout for a collection with a thousand. */
async function deleteSwarms(api: ScaleApi, swarms: string): Promise<void> {
  await forAll(await api.list(swarms), CREATE_CONCURRENCY, ({ metadata }) =>
    api.call('DELETE', `${swarms}/${metadata.name}`),
  );
}

/** Objects in a failed run have no controller that removes their finalizer. */
async function releaseSwarms(api: ScaleApi, swarms: string): Promise<void> {
  await deleteSwarms(api, swarms);
  await forAll(await api.list(swarms), CREATE_CONCURRENCY, ({ metadata }) =>
    api.call('PATCH', `${swarms}/${metadata.name}`, { metadata: { finalizers: null } }),
  );
}

/** The production webhook, configured for the simulated nodes. */
async function startWebhook(
  namespace: string,
  { placement }: SimulatedNodes,
  folder: string,
): Promise<{ webhook: RunningService; syncUrl: string }> {
  const policy = path.join(folder, 'policy');
  await mkdir(policy, { recursive: true });
  await writeFile(path.join(policy, 'runtimeNamespaces'), `${namespace}\n`);
  const { publicKey } = generateKeyPairSync('ed25519');
  const port = await freePort();
  const env = {
    HTTP_PORT: `${port}`,
    SYNC_TOKEN,
    POLICY_DIRECTORY: policy,
    RUNTIME_PODS: JSON.stringify(placement),
    USWARM_CALL_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    // The image is never pulled.
    SVC_AGENT_RUNTIME_IMAGE: 'simulated.invalid/agent-runtime:1',
    SVC_ORCHESTRATOR_ENDPOINT: 'http://orchestrator.invalid:8082',
    SVC_MCP_ENDPOINT: 'http://search.invalid:8080/mcp',
  };
  const script = built('services/uswarm-webhook/dist/main.js');
  const webhook = await startService(script, env, path.join(folder, 'webhook.log'));
  return { webhook, syncUrl: `http://127.0.0.1:${port}/sync` };
}
