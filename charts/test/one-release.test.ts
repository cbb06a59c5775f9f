import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { evaluation, helm } from './rendering.js';

const RBAC = 'rbac.authorization.k8s.io';

describe('a second release in the cluster', () => {
  let directory: string;
  let cluster: Server;
  let roles: object[];

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'uswarm-chart-'));
    roles = [];
    cluster = createServer(({ url = '' }, response) => {
      const answer = answers()[url.split('?')[0]!];
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer ?? { kind: 'Status', code: 404, reason: 'NotFound' }));
    });
    await new Promise<void>((resolve) => cluster.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    cluster.closeAllConnections();
    await new Promise((resolve) => cluster.close(resolve));
    await rm(directory, { recursive: true });
  });

  /** As much of a cluster as helm asks for before it looks something up. */
  const answers = (): Record<string, object> => {
    const version = { groupVersion: `${RBAC}/v1`, version: 'v1' };
    const listed = (groupVersion: string, name: string, kind: string, namespaced: boolean): object => ({
      kind: 'APIResourceList',
      groupVersion,
      resources: [{ name, kind, namespaced, verbs: ['get', 'list'] }],
    });
    return {
      '/version': { major: '1', minor: '34', gitVersion: 'v1.34.0' },
      '/api': { kind: 'APIVersions', versions: ['v1'] },
      '/apis': { kind: 'APIGroupList', groups: [{ name: RBAC, versions: [version], preferredVersion: version }] },
      '/api/v1': listed('v1', 'secrets', 'Secret', true),
      [`/apis/${RBAC}/v1`]: listed(`${RBAC}/v1`, 'clusterroles', 'ClusterRole', false),
      [`/apis/${RBAC}/v1/clusterroles`]: { apiVersion: `${RBAC}/v1`, kind: 'ClusterRoleList', items: roles },
    };
  };
  const role = (release: string, namespace: string, component: string): object => ({
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: {
      name: `${release}-${component}`,
      labels: { 'app.kubernetes.io/part-of': 'uswarm', 'app.kubernetes.io/component': component },
      annotations: { 'meta.helm.sh/release-name': release, 'meta.helm.sh/release-namespace': namespace },
    },
  });
  /** As `helm install` renders it, for release `uswarm` in `backend`. */
  const install = async (): Promise<string> => {
    const file = path.join(directory, 'kubeconfig');
    const server = `http://127.0.0.1:${(cluster.address() as AddressInfo).port}`;
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    };
    await writeFile(file, JSON.stringify(config));
    return helm(['template', '--dry-run=server', '--kubeconfig', file], evaluation);
  };

  it.each([
    ['another name', role('first', 'backend', 'controller')],
    ['another namespace', role('uswarm', 'elsewhere', 'controller')],
    ['Metacontroller in place of a controller', role('first', 'backend', 'orchestrator')],
  ])('is refused (%s)', async (_what, found) => {
    roles = [{ apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: { name: 'view' } }, found];
    await expect(install()).rejects.toThrow(/is in this cluster already; .* one release a cluster/);
  });

  it('is not seen in what is its own, and not in other parts', async () => {
    roles = [role('uswarm', 'backend', 'controller'), role('first', 'backend', 'drain')];
    // It was rendered: what is missing then is a schema to check it by, which this cluster has not.
    await expect(install()).rejects.toThrow('failed to download openapi');
  });
});
