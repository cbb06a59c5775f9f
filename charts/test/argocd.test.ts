import { expect, it } from '@jest/globals';
import { ARGO_VERSIONS, type ArgoVerdict, type ArgoVersion, askArgoCd, describeWith } from '@uswarm/testkit';
import { external, helm, type Manifest, parseManifests, render, repositoryFile } from './support/rendering.js';

const { drain: _, ...plain } = external;
const shown = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;
const isTest = ({ metadata }: Manifest): boolean => metadata.annotations?.['helm.sh/hook'] === 'test';

interface Judged {
  object: Manifest;
  verdict: ArgoVerdict;
}

async function judge(objects: readonly Manifest[], version: ArgoVersion): Promise<Judged[]> {
  const verdicts = (await askArgoCd(objects))[version];
  expect(verdicts).toHaveLength(objects.length);
  return objects.map((object, index) => ({ object, verdict: verdicts[index]! }));
}

const CLEANUP = [
  'ClusterRole uswarm-cleanup',
  'ClusterRoleBinding uswarm-cleanup',
  'Job uswarm-cleanup',
  'NetworkPolicy uswarm-cleanup',
  'ServiceAccount uswarm-cleanup',
];

describeWith('go', 'the chart in Argo CD', () => {
  it.each(ARGO_VERSIONS)('has no hook that %s runs on sync', async (version) => {
    for (const hooks of ['auto', 'argocd', 'none']) {
      const judged = await judge(await render({ ...plain, drain: { hooks } }), version);
      expect(judged.filter(({ verdict }) => verdict.syncPhases.length > 0).map(({ object }) => shown(object))).toEqual(
        [],
      );
      // All other objects belong to the application.
      const lasting = judged.filter(({ verdict, object }) => !verdict.synced && !verdict.postDelete && !isTest(object));
      expect(lasting.map(({ object }) => shown(object))).toEqual([]);
    }
  });

  it.each(ARGO_VERSIONS)(
    'has in %s only the cleanup as hooks of a deletion, all after it, and all deleted',
    async (version) => {
      const judged = await judge(await render({ ...plain, drain: { hooks: 'argocd' } }), version);
      const ofDeletion = judged.filter(({ verdict }) => verdict.preDelete || verdict.postDelete);
      expect(ofDeletion.map(({ object }) => shown(object)).toSorted()).toEqual(CLEANUP);
      for (const { verdict } of ofDeletion) {
        // A failed hook is deleted too, because the next deletion would reuse it.
        expect({ ...verdict, deletePolicies: verdict.deletePolicies.toSorted() }).toEqual({
          synced: false,
          syncPhases: [],
          preDelete: false,
          postDelete: true,
          deletePolicies: ['HookFailed', 'HookSucceeded'],
        });
      }
    },
  );

  it.each(ARGO_VERSIONS)('has no deletion hook in %s by default', async (version) => {
    const judged = await judge(await render(plain), version);
    expect(judged.filter(({ verdict }) => verdict.preDelete || verdict.postDelete)).toEqual([]);
  });

  it('must not use the hooks of Helm, which Argo CD versions support partially', async () => {
    const objects = await render(external);
    const seen = async (version: ArgoVersion): Promise<string[]> =>
      (await judge(objects, version)).filter(({ verdict }) => verdict.postDelete).map(({ object }) => shown(object));
    expect(await seen('2.14')).toEqual(['Job uswarm-drain-finish']);
    expect(await seen('3.5')).toContain('ServiceAccount uswarm-drain');
  });

  it('runs install hooks on every sync, so the chart has none', async () => {
    const hook = { metadata: { name: 'hook', annotations: { 'helm.sh/hook': 'post-delete,pre-install' } } };
    const verdicts = await askArgoCd([{ apiVersion: 'v1', kind: 'ConfigMap', ...hook }]);
    for (const version of ARGO_VERSIONS) expect(verdicts[version][0]?.syncPhases).toEqual(['PreSync']);
  });

  it('renders each object of a production installation once', async () => {
    const files = [repositoryFile('deploy/production/values.yaml')];
    const objects = parseManifests(await helm(['template'], { drain: { hooks: 'argocd' } }, { files }));
    const ids = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(30);
  });
});
