import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type KnownCluster, startKnownCluster } from './support/known-cluster.js';
import { external, helm, type Manifest, rejection, render } from './support/rendering.js';

/** The error after rendering: this cluster serves no schemas. */
const RENDERED = 'failed to download openapi';
const namespace = (name: string, metadata: object = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, ...metadata },
});
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };

describe.each([
  ['an installation', []],
  ['an upgrade', ['--is-upgrade']],
])('%s', (_verb, flags) => {
  let cluster: KnownCluster;
  beforeEach(async () => {
    cluster = await startKnownCluster();
  });
  afterEach(() => cluster.close());

  const attempt = (runtime: object, existing: readonly Manifest[], more: object = {}): Promise<string> => {
    cluster.objects.push(...existing);
    const args = ['template', ...flags, '--dry-run=server', '--kubeconfig', cluster.kubeconfig];
    return helm(args, { ...external, ...more, runtime });
  };

  it.each<[string, object, Manifest[], RegExp]>([
    [
      'an extra namespace is missing',
      { extraNamespaces: ['team-a', 'team-b'] },
      [namespace('team-a')],
      /runtime\.extraNamespaces contains team-b, which does not exist\. Create it, or remove it from the value\./,
    ],
    [
      'an extra namespace is being deleted',
      { extraNamespaces: ['team-a'] },
      [namespace('team-a', deleted)],
      /runtime\.extraNamespaces contains team-a, which is being deleted\. Wait/,
    ],
    [
      'the namespace of the runtimes is missing and not created',
      { createNamespace: false },
      [],
      /runtime\.namespace contains userswarms, which does not exist\..*runtime\.createNamespace=true/,
    ],
    [
      'the namespace of the runtimes is being deleted',
      {},
      [namespace('userswarms', deleted)],
      /runtime\.namespace contains userswarms, which is being deleted/,
    ],
  ])('is rejected before it writes anything if %s', async (_fault, runtime, existing, message) => {
    await expect(attempt(runtime, existing)).rejects.toThrow(message);
  });

  it.each<[string, object, Manifest[], object]>([
    ['all exist', { extraNamespaces: ['team-a'] }, [namespace('team-a')], {}],
    ['the chart creates that of the runtimes', {}, [], {}],
    ['that of the runtimes exists and is not created', { createNamespace: false }, [namespace('userswarms')], {}],
    [
      'extraObjects contains the missing one',
      { extraNamespaces: ['backend-team'] },
      [],
      { extraObjects: [namespace('{{ .Release.Namespace }}-team')] },
    ],
  ])('is allowed if %s', async (_case, runtime, existing, more) => {
    await expect(attempt(runtime, existing, more)).rejects.toThrow(RENDERED);
  });
});

it('an extra namespace is not checked without a cluster', async () => {
  await expect(render({ ...external, runtime: { extraNamespaces: ['team-a'] } })).resolves.not.toEqual([]);
});

describe('namespaces of the cluster', () => {
  it.each(['kube-system', 'kube-public', 'kube-node-lease', 'openshift', 'openshift-monitoring'])(
    'never run workspaces: %s',
    async (name) => {
      const sentence = new RegExp(`^runtime\\.\\w+ must not contain ${name}: .*delete pods.*\\.$`);
      expect((await rejection({ ...external, runtime: { extraNamespaces: [name] } })).trim()).toMatch(sentence);
      expect((await rejection({ ...external, runtime: { namespace: name } })).trim()).toMatch(sentence);
    },
  );

  it('are recognized by their whole prefix', async () => {
    const runtime = { extraNamespaces: ['kubeflow', 'openshifting'] };
    await expect(render({ ...external, runtime })).resolves.not.toEqual([]);
  });
});
