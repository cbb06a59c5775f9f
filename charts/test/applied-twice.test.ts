import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { CHART, evaluation, type Manifest, render, repositoryFile } from './support/rendering.js';
import { merge, pathsOf, valueAt } from './support/value-paths.js';
import { SCENARIOS } from './support/value-sets.js';

/** Object keys that the API server stores also if they are empty. Empty lists and maps are dropped. */
const STORED_IF_EMPTY =
  /(^|\.)(podSelector|namespaceSelector|paramRef\.selector|emptyDir|resources|default|subresources\.status)$/;
/** Fields that the API server writes itself. */
const OF_THE_SERVER = /^(status|metadata\.(creationTimestamp|generation|managedFields|resourceVersion|selfLink|uid))$/;
/** Quantities are stored in another form: `1000m` as `1`, `1024Mi` as `1Gi`, `0.5` as `500m`. */
const QUANTITIES = /\.(limits|requests|hard|default|defaultRequest|min|max)\.[^.]+$|\.sizeLimit$/;

function isCanonical(value: unknown): boolean {
  const [, number, suffix = ''] = /^(\d+)(m|k|[KMGT]i|[MGT])?$/.exec(String(value)) ?? [];
  if (number === undefined) return false;
  const step = suffix.endsWith('i') ? 1024 : 1000;
  return suffix === '' || Number(number) % step !== 0;
}

/** List keys that the API server merges: a second entry with the same key replaces the first. */
const KEYS: Record<string, (entry: Record<string, unknown>) => string> = {
  env: ({ name }) => String(name),
  containers: ({ name }) => String(name),
  initContainers: ({ name }) => String(name),
  volumes: ({ name }) => String(name),
  volumeMounts: ({ mountPath }) => String(mountPath),
  imagePullSecrets: ({ name }) => String(name),
  ports: ({ containerPort, port, protocol = 'TCP' }) => `${String(containerPort ?? port)}/${String(protocol)}`,
};

/** The manifest fields that differ from what the API server stores. */
function changedFields(value: unknown, path = ''): string[] {
  if (value === null || OF_THE_SERVER.test(path)) return [path];
  if (typeof value !== 'object')
    return QUANTITIES.test(path) && !isCanonical(value) ? [`${path}=${String(value)}`] : [];
  const entries = Object.entries(value);
  if (entries.length === 0) return !Array.isArray(value) && STORED_IF_EMPTY.test(path) ? [] : [path];
  const nested = entries.flatMap(([key, inner]) => changedFields(inner, path === '' ? key : `${path}.${key}`));
  const key = Array.isArray(value) ? KEYS[path.split('.').at(-1)!] : undefined;
  const keys = key === undefined ? [] : (value as Record<string, unknown>[]).map(key);
  return [...nested, ...(new Set(keys).size < keys.length ? [`${path} (${keys.join(', ')})`] : [])];
}

const changedIn = (manifests: readonly Manifest[]): string[] =>
  manifests.flatMap((manifest) =>
    changedFields(
      manifest.kind === 'CustomResourceDefinition' ? { ...manifest, spec: withoutSchema(manifest) } : manifest,
    ).map((field) => `${manifest.kind} ${manifest.metadata.name}: ${field}`),
  );

/** A schema contains user-facing texts, such as defaults. */
const withoutSchema = ({ spec }: Manifest): object => ({
  ...spec,
  versions: (spec.versions as object[]).map((version) => ({ ...version, schema: undefined })),
});

describe('manifests that are applied again', () => {
  it.each(SCENARIOS)(
    'change nothing, because the API server stores each field as it is rendered, with %s',
    async (paths) => {
      const manifests = await render({}, { files: paths.split(' ').map(repositoryFile) });
      expect(changedIn(manifests)).toEqual([]);
    },
  );

  describe('with empty lists', () => {
    let values: object;
    let everything: object;
    beforeAll(async () => {
      values = parse(await readFile(`${CHART}/values.yaml`, 'utf8')) as object;
      everything = parse(await readFile(`${CHART}/ci/everything-values.yaml`, 'utf8')) as object;
    });

    /** Lists that must not be empty. */
    const REQUIRED =
      /^(oidc\.issuers|httpRoute\.(parentRefs|hostnames)|http\.trustedProxies|gateway\.transports|networkPolicy\..*\.ports)$/;

    it('change nothing either', async () => {
      const emptied = pathsOf(values)
        .filter((path) => Array.isArray(valueAt(values, path)) && !REQUIRED.test(path))
        .map((path) => path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), []) as object)
        .reduce(merge, everything);
      expect(changedIn(await render(emptied))).toEqual([]);
    });
  });
});

describe('objects for `helm test`', () => {
  it('are all hooks of the test, so `--skip-tests` omits them', async () => {
    const manifests = await render(evaluation);
    const ours = manifests.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === 'test');
    expect(ours.map(({ kind, metadata }) => [kind, metadata.annotations?.['helm.sh/hook']])).toEqual([
      ['NetworkPolicy', 'test'],
      ['ServiceAccount', 'test'],
      ['Pod', 'test'],
    ]);
  });
});
