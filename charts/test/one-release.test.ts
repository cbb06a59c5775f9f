import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type KnownCluster, startKnownCluster } from './support/known-cluster.js';
import { evaluation, helm, type Manifest } from './support/rendering.js';

const RBAC = 'rbac.authorization.k8s.io';

describe('a second release in the cluster', () => {
  let cluster: KnownCluster;
  let roles: Manifest[];

  beforeEach(async () => {
    roles = [];
    cluster = await startKnownCluster();
  });
  afterEach(() => cluster.close());

  const role = (release: string, namespace: string, component: string): Manifest => ({
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
    cluster.objects.push(...roles);
    return helm(['template', '--dry-run=server', '--kubeconfig', cluster.kubeconfig], evaluation);
  };

  it.each([
    ['another name', role('first', 'backend', 'controller')],
    ['another namespace', role('uswarm', 'elsewhere', 'controller')],
    ['Metacontroller instead of the controller', role('first', 'backend', 'orchestrator')],
  ])('is rejected (%s)', async (_difference, found) => {
    roles = [{ apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: { name: 'view' } }, found];
    await expect(install()).rejects.toThrow(/is already installed in this cluster: .* one release per cluster/);
  });

  it('is not detected in objects of the same release or of other components', async () => {
    roles = [role('uswarm', 'backend', 'controller'), role('first', 'backend', 'drain')];
    // The error after rendering: this cluster serves no schemas.
    await expect(install()).rejects.toThrow('failed to download openapi');
  });
});
