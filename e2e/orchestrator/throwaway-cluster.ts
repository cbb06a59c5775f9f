import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import {
  ApiException,
  CustomObjectsApi,
  KubeConfig,
  PatchStrategy,
  RbacAuthorizationV1Api,
  setHeaderOptions,
} from '@kubernetes/client-node';
import type { Resource } from '@uswarm/kube-client';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import type { StoredUserSwarm } from '@uswarm/orchestrator/kubernetes-driver';
import { loadKubeConfig } from '../support/kube-api.js';
import { loadSettings } from '../support/settings.js';
import { throwawayCrd } from '../support/throwaway-crd.js';

/** Used with plain objects: the typed client drops the fields `x-kubernetes-…`. */
const DEFINITIONS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
/** The verbs that the chart gives the orchestrator. */
const VERBS = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
const MERGE = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
const APPLY = setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply);

/** UserSwarms in a separate API group, which no controller reconciles, and a user with rights to them. */
export interface ThrowawayCluster {
  type: Resource;
  /** API server URL. */
  server: string;
  /** Kubeconfig for a user with only the orchestrator's rights. @param server replaces the API server URL */
  orchestratorConfig(server?: string): KubeConfig;
  get(name: string): Promise<StoredUserSwarm | undefined>;
  create(object: object): Promise<StoredUserSwarm>;
  /** Like `kubectl patch`. */
  merge(name: string, patch: object): Promise<StoredUserSwarm>;
  /** Like `kubectl apply --server-side`. */
  apply(name: string, object: object, fieldManager: string): Promise<StoredUserSwarm>;
  setStatus(name: string, status: object): Promise<StoredUserSwarm>;
  delete(name: string): Promise<void>;
  remove(): Promise<void>;
}

const ignoreMissing = (error: unknown): undefined => {
  if (error instanceof ApiException && error.code === 404) return undefined;
  throw error;
};

export async function createThrowawayCluster(): Promise<ThrowawayCluster> {
  const config = loadKubeConfig(loadSettings());
  const { server } = config.getCurrentCluster() ?? {};
  if (server === undefined) throw new Error('the current context names no cluster');
  const id = randomBytes(4).toString('hex');
  const group = `driver-${id}.e2e.uswarm.dev`;
  const user = `uswarm-e2e-orchestrator-${id}`;
  const rights = config.makeApiClient(RbacAuthorizationV1Api);
  const objects = config.makeApiClient(CustomObjectsApi);
  const type = { ...USERSWARMS, group };
  const { kind: _kind, ...resource } = type;

  await objects.createClusterCustomObject({ ...DEFINITIONS, body: await throwawayCrd(group) });
  const rules = [{ apiGroups: [group], resources: [resource.plural], verbs: VERBS }];
  await rights.createClusterRole({ body: { metadata: { name: user }, rules } });
  await rights.createClusterRoleBinding({
    body: {
      metadata: { name: user },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    },
  });
  const orchestratorConfig = (url = server): KubeConfig => {
    const limited = new KubeConfig();
    limited.loadFromString(config.exportConfig());
    const tlsServerName = new URL(server).hostname;
    limited.clusters = limited.clusters.map((known) => ({
      ...known,
      server: url,
      ...(isIP(tlsServerName) === 0 ? { tlsServerName } : {}),
    }));
    limited.users = limited.users.map((known) => ({ ...known, impersonateUser: user }));
    return limited;
  };
  const limited = orchestratorConfig().makeApiClient(CustomObjectsApi);
  await waitUntilServed(() => limited.listClusterCustomObject(resource));

  return {
    type,
    server,
    orchestratorConfig,
    get: (name) => objects.getClusterCustomObject({ ...resource, name }).catch(ignoreMissing),
    create: (body) => objects.createClusterCustomObject({ ...resource, body }),
    merge: (name, body) => objects.patchClusterCustomObject({ ...resource, name, body }, MERGE),
    apply: (name, body, fieldManager) =>
      objects.patchClusterCustomObject({ ...resource, name, body, fieldManager, force: true }, APPLY),
    setStatus: (name, status) => objects.patchClusterCustomObjectStatus({ ...resource, name, body: { status } }, MERGE),
    async delete(name) {
      await objects.deleteClusterCustomObject({ ...resource, name }).catch(ignoreMissing);
    },
    async remove() {
      const { items } = (await objects.listClusterCustomObject(resource)) as { items: StoredUserSwarm[] };
      const body = { metadata: { finalizers: [] } };
      for (const { metadata } of items) {
        await objects.patchClusterCustomObject({ ...resource, name: metadata.name, body }, MERGE).catch(ignoreMissing);
      }
      await objects.deleteClusterCustomObject({ ...DEFINITIONS, name: `${resource.plural}.${group}` });
      await rights.deleteClusterRoleBinding({ name: user });
      await rights.deleteClusterRole({ name: user });
    },
  };
}

/** Waits until the API server serves a new resource. */
async function waitUntilServed(request: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      await request();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}
