import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type KnownCluster, startKnownCluster } from './support/known-cluster.js';
import { external, find, helm, type Manifest, render } from './support/rendering.js';

const valuesOf = (framework: string) => ({ ...external, controller: { framework } });
const userSwarm: Manifest = { apiVersion: 'uswarm.dev/v1alpha1', kind: 'UserSwarm', metadata: { name: 'workspace-a' } };
/** The error after rendering: this cluster serves no schemas. */
const RENDERED = 'failed to download openapi';

describe('an upgrade with another controller.framework', () => {
  let cluster: KnownCluster;

  beforeEach(async () => {
    cluster = await startKnownCluster();
  });
  afterEach(() => cluster.close());

  const installed = async (framework: string, ...others: Manifest[]): Promise<void> => {
    const webhook = find(await render(valuesOf(framework)), 'Deployment', 'uswarm-webhook');
    cluster.objects.push({ ...webhook, metadata: { ...webhook.metadata, namespace: 'backend' } }, ...others);
  };
  const upgrade = (framework: string): Promise<string> =>
    helm(['template', '--is-upgrade', '--dry-run=server', '--kubeconfig', cluster.kubeconfig], valuesOf(framework));

  it.each([
    ['builtin', 'metacontroller'],
    ['metacontroller', 'builtin'],
  ])('is rejected while UserSwarms exist, with instructions (%s to %s)', async (before, after) => {
    await installed(before, userSwarm);
    await expect(upgrade(after)).rejects.toThrow(
      new RegExp(
        `controller\\.framework must not change from ${before} to ${after} .*: 1 of them .* Run helm uninstall`,
      ),
    );
  });

  it('is allowed without UserSwarms', async () => {
    await installed('builtin');
    await expect(upgrade('metacontroller')).rejects.toThrow(RENDERED);
  });

  it.each(['builtin', 'metacontroller'])('is allowed if the framework remains %s', async (framework) => {
    await installed(framework, userSwarm);
    await expect(upgrade(framework)).rejects.toThrow(RENDERED);
  });
});
