import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { API_GROUP, DEFAULT_RUNTIME_NAMESPACE, USERSWARM_PLURAL } from '@uswarm/contract/userswarm';
import { parse } from 'yaml';
import { CHART, external, find, ofKind, refusal, render, repositoryFile } from './rendering.js';

const CRD = `${USERSWARM_PLURAL}.${API_GROUP}`;
const keep = { 'helm.sh/resource-policy': 'keep' };

describe('the definition of UserSwarm', () => {
  it('is the generated one, upgraded with the chart and kept when it goes', async () => {
    const crd = find(await render(external), 'CustomResourceDefinition', CRD);
    const generated = parse(await readFile(repositoryFile(`crds/${CRD}.yaml`), 'utf8')) as { spec: object };
    expect(crd['spec']).toEqual(generated.spec);
    expect(crd.metadata.annotations).toEqual(keep);
    expect(crd.metadata.labels).toMatchObject({ 'app.kubernetes.io/managed-by': 'Helm' });
    expect(await readFile(`${CHART}/files/${CRD}.yaml`, 'utf8')).toBe(
      await readFile(repositoryFile(`crds/${CRD}.yaml`), 'utf8'),
    );
  });

  it('can be left to somebody else, or go with the release', async () => {
    expect(ofKind(await render({ ...external, crds: { enabled: false } }), 'CustomResourceDefinition')).toEqual([]);
    const crd = find(await render({ ...external, crds: { keep: false } }), 'CustomResourceDefinition', CRD);
    expect(crd.metadata.annotations ?? {}).not.toMatchObject(keep);
  });
});

describe('the namespace of workspaces', () => {
  it('enforces Pod Security restricted and is kept', async () => {
    const { metadata } = find(await render(external), 'Namespace', DEFAULT_RUNTIME_NAMESPACE);
    expect(metadata.annotations).toEqual(keep);
    expect(metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/audit': 'restricted',
      'pod-security.kubernetes.io/warn': 'restricted',
    });
  });

  it('can have another name, or be there already; further ones are not touched', async () => {
    const renamed = await render({
      ...external,
      runtime: { ...external.runtime, namespace: 'agents', extraNamespaces: ['more'] },
    });
    expect(ofKind(renamed, 'Namespace').map(({ metadata }) => metadata.name)).toEqual(['agents']);
    const existing = await render({ ...external, runtime: { ...external.runtime, createNamespace: false } });
    expect(ofKind(existing, 'Namespace')).toEqual([]);
  });

  it('is never that of the platform', async () => {
    const at = (runtime: object): Promise<string> =>
      refusal({ ...external, runtime: { ...external.runtime, ...runtime } });
    expect(await at({ namespace: 'backend' })).toMatch(/^runtime\.namespace is the release's own namespace; .*\.$/);
    expect(await at({ extraNamespaces: ['backend'] })).toMatch(
      /^runtime\.extraNamespaces names the release's own .*\.$/,
    );
  });
});
