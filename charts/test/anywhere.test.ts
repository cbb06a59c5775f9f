import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  CHART,
  containersOf,
  evaluation,
  external,
  helm,
  type Manifest,
  podTemplates,
  render,
  repositoryFile,
} from './support/rendering.js';

// Common chart faults under unusual release names, namespaces and clusters.

const everything = { files: [`${CHART}/ci/everything-values.yaml`] };

it('all objects use the configured release name and namespaces', async () => {
  // Monitoring uses the same component and dashboard names in every release, and children name the program that manages them.
  const monitoring = { metrics: { prometheusRule: { enabled: false }, dashboards: { enabled: false } } };
  const text = await helm(['template'], monitoring, { ...everything, release: 'second', namespace: 'elsewhere' });
  expect(text).toContain('namespace: "elsewhere"');
  expect(
    text
      .split('\n')
      .filter((line) =>
        /\bbackend(?!:|Refs)\b|(?<!second-|team\/uswarm\/|managed-by': ')\buswarm-(orch|real|webh|contr|sear)/.test(
          line,
        ),
      ),
  ).toEqual([]);
});

it('object names are short enough for the longest release name', async () => {
  const release = `r${'x'.repeat(52)}`;
  const manifests = await render({}, { ...everything, release });
  // RBAC object and ConfigMap names may be longer.
  const limit = (kind: string): number => (/^(Service|Deployment|Job|Pod|Namespace)$/.test(kind) ? 63 : 253);
  const long = manifests
    .filter(({ kind, metadata }) => metadata.name.length > limit(kind))
    .map(({ metadata }) => metadata.name);
  expect(long).toEqual([]);
  const labels = manifests.flatMap(({ metadata }) => Object.values(metadata.labels ?? {}));
  expect(labels.filter((label) => label.length > 63)).toEqual([]);
  // Hooks may reuse an earlier hook's name.
  const lasting = manifests.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined);
  const names = lasting.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
  expect(new Set(names).size).toBe(names.length);
});

it('every pod has the image pull secrets, including pods of hooks', async () => {
  const pullSecrets = [{ name: 'registry' }];
  const pods = podTemplates(await render({ images: { pullSecrets } }, everything));
  expect(pods.map(({ owner }) => owner)).toContain('uswarm-test');
  expect(pods.filter(({ spec }) => JSON.stringify(spec.imagePullSecrets) !== JSON.stringify(pullSecrets))).toEqual([]);
});

it('components share common settings', async () => {
  const found = new Map<string, Map<string, string[]>>();
  for (const pod of podTemplates(await render({}, everything))) {
    for (const { env = [], name } of containersOf(pod)) {
      for (const { name: variable, ...source } of env) {
        const sources = found.get(variable) ?? new Map<string, string[]>();
        const key = JSON.stringify(source);
        found.set(variable, sources.set(key, [...(sources.get(key) ?? []), name]));
      }
    }
  }
  const shared = ['INTERNAL_API_KEY', 'REALTIME_REDIS_URL', 'SVC_MCP_SIGNING_KEY', 'SYNC_TOKEN', 'DATABASE_URL'];
  for (const name of shared) expect([...found.get(name)!.values()].flat().length).toBeGreaterThan(1);
  expect([...found].filter(([, sources]) => sources.size > 1).map(([name]) => name)).toEqual([]);
});

/** The values in fields with these names, at any depth. */
function fieldsOf(value: unknown, names: ReadonlySet<string>): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, field]) =>
    names.has(name) && (typeof field !== 'object' || Array.isArray(field) || field === null)
      ? [field].flat()
      : fieldsOf(field, names),
  );
}

describe('strings that YAML could parse as another type', () => {
  const WORDS = { a: 'on', b: 'no', c: '1e3', d: '0x10', e: 'null', f: '2026-01-01', g: 'true' };
  const strings = (manifest: Manifest): void => {
    const { nodeSelector } = manifest['spec'].template.spec;
    expect(nodeSelector).toEqual(WORDS);
    expect(manifest['spec'].template.metadata.annotations).toMatchObject(WORDS);
  };

  it('remain strings', async () => {
    const extraEnv = Object.entries(WORDS).map(([name, value]) => ({ name, value }));
    const values = { ...external, defaults: { nodeSelector: WORDS, podAnnotations: WORDS, extraEnv } };
    const manifests = await render({ ...values, runtime: { defaultModel: '1e3' } });
    for (const manifest of manifests.filter(({ kind }) => kind === 'Deployment')) strings(manifest);
    for (const pod of podTemplates(manifests)) {
      for (const { env = [] } of containersOf(pod)) {
        expect(env.filter(({ value }) => value !== undefined && typeof value !== 'string')).toEqual([]);
      }
    }
  });

  it('remain strings as names of namespaces, and in names and labels', async () => {
    const named = { runtime: { namespace: 'null' }, nameOverride: '1e3', fullnameOverride: '0x10' };
    const manifests = await render(named, { ...everything, namespace: '2024', release: 'on' });
    const texts = manifests.flatMap(({ metadata: { name, namespace, labels = {} } }) => [
      name,
      ...(namespace === undefined ? [] : [namespace]),
      ...Object.values(labels),
    ]);
    expect(texts.filter((text) => typeof text !== 'string')).toEqual([]);
    expect(new Set(manifests.flatMap(({ metadata }) => metadata.namespace ?? []))).toEqual(
      new Set(['2024', 'null', 'default']),
    );
  });

  it('remain strings as keys of Secrets and ConfigMaps, and in references to namespaces', async () => {
    const keyed = {
      secrets: { cursor: { key: '1e3', previousKey: '2' }, sync: { key: 'on' }, callKey: { publicKey: 'null' } },
      trustedCA: { key: '0x10' },
    };
    const references = async (values: object): Promise<unknown[]> => {
      const manifests = await render({ ...keyed, ...values }, { ...everything, namespace: '2024' });
      return fieldsOf(manifests, new Set(['key', 'path', 'namespace', 'matchNames']));
    };
    for (const values of [
      {},
      { mountSecretsAsFiles: true },
      { controller: { framework: 'metacontroller' } },
      { drain: { hooks: 'argocd' } },
    ]) {
      const found = await references(values);
      expect(found).toEqual(expect.arrayContaining(['1e3', '2', 'on', 'null', '0x10', '2024']));
      expect(found.filter((value) => typeof value !== 'string')).toEqual([]);
    }
  });
});

describe('the chart', () => {
  it('has no dependencies and uses no withdrawn images', async () => {
    const chart = parse(await readFile(`${CHART}/Chart.yaml`, 'utf8')) as { dependencies?: unknown };
    expect(chart.dependencies).toBeUndefined();
    expect(await readFile(`${CHART}/values.yaml`, 'utf8')).not.toMatch(/bitnami/i);
  });

  it('accepts global values as a subchart', async () => {
    await expect(render({ ...evaluation, global: { imageRegistry: 'a', storageClass: 'b' } })).resolves.not.toEqual([]);
  });

  it('runs no migrations in a hook before the database exists', async () => {
    const jobs = (await render({}, everything)).filter(({ kind }) => kind === 'Job');
    const before = jobs.filter(({ metadata }) =>
      /pre-install|pre-upgrade|post-install|post-upgrade/.test(metadata.annotations?.['helm.sh/hook'] ?? ''),
    );
    expect(before).toEqual([]);
  });

  it('is packaged without files for tests and documents', async () => {
    const ignored = (await readFile(`${CHART}/.helmignore`, 'utf8')).split('\n');
    expect(ignored).toEqual(expect.arrayContaining(['ci/', 'README.md.gotmpl']));
    await readFile(repositoryFile('charts/uswarm/README.md'), 'utf8');
  });
});
