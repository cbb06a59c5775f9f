import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Manifest } from './rendering.js';

const RBAC = 'rbac.authorization.k8s.io';
const USERSWARMS = 'uswarm.dev/v1alpha1';

/** A fake API server that serves `lookup` of Secrets, ClusterRoles, Namespaces and the namespace `default`. */
export interface KnownCluster {
  /** Kubeconfig path. */
  kubeconfig: string;
  /** Cluster objects. */
  objects: Manifest[];
  close(): Promise<void>;
}

/** Discovery also lists the kinds of `kinds`. */
export async function startKnownCluster(kinds: readonly Manifest[] = []): Promise<KnownCluster> {
  const directory = await mkdtemp(path.join(tmpdir(), 'uswarm-chart-'));
  const kubeconfig = path.join(directory, 'kubeconfig');
  const objects: Manifest[] = [];
  const server = createServer(({ url = '' }, response) => {
    const answer = { ...discovery([...LOOKED_UP, ...kinds]), ...answers(objects) }[url.split('?')[0]!];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { kind: 'Status', code: 404, reason: 'NotFound' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await writeFile(kubeconfig, JSON.stringify(configFor(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)));
  return {
    kubeconfig,
    objects,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true });
    },
  };
}

const configFor = (server: string): object => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster: { server } }],
  users: [{ name: 'u', user: {} }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'c',
});

type Kind = Pick<Manifest, 'apiVersion' | 'kind'>;
const LOOKED_UP: readonly Kind[] = [
  { apiVersion: 'v1', kind: 'Secret' },
  { apiVersion: 'v1', kind: 'Namespace' },
  { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole' },
  { apiVersion: 'apps/v1', kind: 'Deployment' },
  { apiVersion: USERSWARMS, kind: 'UserSwarm' },
];

/** Discovery responses. */
function discovery(kinds: readonly Kind[]): Record<string, object> {
  const versions = new Map<string, Map<string, object>>();
  for (const { apiVersion, kind } of kinds) {
    const namespaced = !/^(Cluster|CustomResource|Namespace$|UserSwarm|Validating)/.test(kind);
    const resource = { name: `${kind.toLowerCase()}s`, kind, namespaced, verbs: ['get', 'list'] };
    versions.set(apiVersion, new Map(versions.get(apiVersion)).set(kind, resource));
  }
  const groups = [...versions.keys()]
    .filter((groupVersion) => groupVersion !== 'v1')
    .map((groupVersion) => {
      const [name, version] = groupVersion.split('/');
      return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } };
    });
  return {
    '/version': { major: '1', minor: '34', gitVersion: 'v1.34.0' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': { kind: 'APIGroupList', groups },
    ...Object.fromEntries(
      [...versions].map(([groupVersion, resources]) => [
        groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`,
        { kind: 'APIResourceList', groupVersion, resources: [...resources.values()] },
      ]),
    ),
  };
}

function answers(objects: readonly Manifest[]): Record<string, object> {
  const roles = objects.filter(({ kind }) => kind === 'ClusterRole');
  const secrets = objects.filter(({ kind }) => kind === 'Secret');
  const namespaces = objects.filter(({ kind }) => kind === 'Namespace');
  return {
    '/api/v1/namespaces/default': { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } },
    ...Object.fromEntries(namespaces.map((each) => [`/api/v1/namespaces/${each.metadata.name}`, each])),
    [`/apis/${USERSWARMS}/userswarms`]: {
      apiVersion: USERSWARMS,
      kind: 'UserSwarmList',
      items: objects.filter(({ kind }) => kind === 'UserSwarm'),
    },
    ...Object.fromEntries(
      objects
        .filter(({ kind }) => kind === 'Deployment')
        .map((deployment) => [
          `/apis/apps/v1/namespaces/${deployment.metadata.namespace}/deployments/${deployment.metadata.name}`,
          deployment,
        ]),
    ),
    [`/apis/${RBAC}/v1/clusterroles`]: { apiVersion: `${RBAC}/v1`, kind: 'ClusterRoleList', items: roles },
    ...Object.fromEntries(
      secrets.map((secret) => [
        `/api/v1/namespaces/${secret.metadata.namespace}/secrets/${secret.metadata.name}`,
        secret,
      ]),
    ),
  };
}
