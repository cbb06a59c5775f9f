import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { API_GROUP, DEFAULT_RUNTIME_NAMESPACE, USERSWARM_PLURAL } from '@uswarm/contract/userswarm';
import { parse } from 'yaml';
import {
  CHART,
  evaluation,
  external,
  find,
  helm,
  type Manifest,
  ofKind,
  rejection,
  render,
  repositoryFile,
} from './support/rendering.js';

const CRD = `${USERSWARM_PLURAL}.${API_GROUP}`;
const keep = { 'helm.sh/resource-policy': 'keep' };

describe('the CRD of UserSwarm', () => {
  it('is the generated one, is upgraded with the chart and is kept on uninstall', async () => {
    const crd = find(await render(external), 'CustomResourceDefinition', CRD);
    const generated = parse(await readFile(`${CHART}/files/${CRD}.yaml`, 'utf8')) as { spec: object };
    expect(crd['spec']).toEqual(generated.spec);
    expect(crd.metadata.annotations).toEqual(keep);
    expect(crd.metadata.labels).toMatchObject({ 'app.kubernetes.io/managed-by': 'Helm' });
  });

  it('can be omitted, or deleted with the release', async () => {
    expect(ofKind(await render({ ...external, crds: { enabled: false } }), 'CustomResourceDefinition')).toEqual([]);
    const crd = find(await render({ ...external, crds: { keep: false } }), 'CustomResourceDefinition', CRD);
    expect(crd.metadata.annotations ?? {}).not.toMatchObject(keep);
  });
});

describe('the model key Secret of an evaluation', () => {
  it('is kept when it leaves the release', async () => {
    const secret = find(await render(evaluation), 'Secret', 'uswarm-model-env', DEFAULT_RUNTIME_NAMESPACE);
    expect(secret.metadata.annotations).toEqual(keep);
    // Helm adopts the object again by these.
    expect(secret.metadata.labels).toMatchObject({ 'app.kubernetes.io/managed-by': 'Helm' });
    const named = { ...evaluation, runtime: { modelEnv: { existingSecret: 'my-model-env' } } };
    const secrets = ofKind(await render(named), 'Secret').map(({ metadata }) => metadata.name);
    expect(secrets).toEqual(['uswarm-evaluation']);
  });
});

it('NOTES.txt and docs/operations.md list all kept objects', async () => {
  const isKept = (manifest: Manifest): boolean => manifest.metadata.annotations?.['helm.sh/resource-policy'] === 'keep';
  const kept = (await render(evaluation)).filter(isKept);
  expect(kept.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual([
    `CustomResourceDefinition ${CRD}`,
    `Namespace ${DEFAULT_RUNTIME_NAMESPACE}`,
    'Secret uswarm-model-env',
    'ValidatingAdmissionPolicy uswarm-policy-lists',
    'ValidatingAdmissionPolicyBinding uswarm-policy-lists',
  ]);
  const guide = await readFile(repositoryFile('docs/operations.md'), 'utf8');
  const uninstalling = guide.split('\n## Uninstalling\n')[1]!.split('\n## ')[0]!;
  const notes = (await helm(['install', '--dry-run=client'], evaluation))
    .split('\nUninstalling\n')[1]!
    .split('\n\n')[0]!;
  for (const { kind, metadata } of kept) {
    const name = kind === 'CustomResourceDefinition' ? 'UserSwarm' : metadata.name;
    expect(uninstalling).toContain(name);
    expect(notes).toContain(name);
  }
});

describe('the runtime namespace', () => {
  it('enforces Pod Security restricted and is kept', async () => {
    const { metadata } = find(await render(external), 'Namespace', DEFAULT_RUNTIME_NAMESPACE);
    expect(metadata.annotations).toEqual(keep);
    expect(metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/audit': 'restricted',
      'pod-security.kubernetes.io/warn': 'restricted',
    });
  });

  it('can be renamed or exist already, and additional namespaces are not changed', async () => {
    const renamed = await render({
      ...external,
      runtime: { namespace: 'agents', extraNamespaces: ['more'] },
    });
    expect(ofKind(renamed, 'Namespace').map(({ metadata }) => metadata.name)).toEqual(['agents']);
    const existing = await render({ ...external, runtime: { createNamespace: false } });
    expect(ofKind(existing, 'Namespace')).toEqual([]);
  });

  it('must not be the namespace of the release', async () => {
    const at = (runtime: object): Promise<string> => rejection({ ...external, runtime: { ...runtime } });
    expect(await at({ namespace: 'backend' })).toMatch(
      /^runtime\.namespace must not be the release's namespace: .*\.$/,
    );
    expect(await at({ extraNamespaces: ['backend'] })).toMatch(
      /^runtime\.extraNamespaces must not contain the release's namespace: .*\.$/,
    );
  });
});
