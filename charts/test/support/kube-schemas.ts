import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, withGo, withInstallLock } from '@uswarm/dev-servers';
import { copyGoModule, type GoModule } from '@uswarm/testkit';
import { parse } from 'yaml';
import { CHART, repositoryFile } from './rendering.js';

const OPENAPI = 'api/openapi-spec/swagger.json';

/** Built-in kinds use the test cluster's Kubernetes version. */
async function modules(): Promise<GoModule[]> {
  const pinned = await readFile(repositoryFile('hack/cluster/go/kube/go.mod'), 'utf8');
  const version = /^\s*k8s\.io\/kubernetes (v\S+)/m.exec(pinned)![1]!;
  const monitoring = ['servicemonitors', 'prometheusrules'].map((plural) => `monitoring.coreos.com_${plural}.yaml`);
  return [
    { path: 'k8s.io/kubernetes', version, files: [OPENAPI] },
    {
      path: 'sigs.k8s.io/gateway-api',
      version: 'v1.5.1',
      files: ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
    },
    {
      path: 'github.com/prometheus-operator/prometheus-operator',
      version: 'v0.85.0',
      files: monitoring.map((file) => `example/prometheus-operator-crd/${file}`),
    },
    {
      path: 'github.com/external-secrets/external-secrets',
      version: 'v1.3.2',
      files: ['config/crds/bases/external-secrets.io_externalsecrets.yaml'],
    },
    { path: 'github.com/kedacore/keda/v2', version: 'v2.18.0', files: ['config/crd/bases/keda.sh_scaledobjects.yaml'] },
    {
      path: 'github.com/cert-manager/cert-manager',
      version: 'v1.19.1',
      files: ['deploy/crds/cert-manager.io_clusterissuers.yaml'],
    },
  ];
}

/** Schema sources, downloaded once into the user's cache. */
async function sources(): Promise<string> {
  const wanted = await modules();
  const key = createHash('sha256').update(JSON.stringify(wanted)).digest('hex').slice(0, 12);
  const folder = join(cacheFolder(), `kube-schemas-${key}`);
  if (existsSync(folder)) return folder;
  await mkdir(cacheFolder(), { recursive: true });
  await withInstallLock(`${folder}.lock`, async () => {
    if (existsSync(folder)) return;
    await withGo(`${folder}.`, async (go, scratch) => {
      for (const each of wanted) await copyGoModule(go, each, join(scratch, 'files'));
      await rename(join(scratch, 'files'), folder);
    });
  });
  return folder;
}

/** The parts in which an OpenAPI schema differs from JSON Schema. */
interface OpenApi {
  [key: string]: unknown;
  format?: string;
  properties?: Record<string, OpenApi>;
  additionalProperties?: unknown;
}

/** The same schema, which rejects unknown fields. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { properties, ...rest } = schema as OpenApi;
  if (rest['x-kubernetes-int-or-string'] === true || rest.format === 'int-or-string') return INT_OR_STRING;
  const made = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, strict(value)]));
  if (properties === undefined) return made;
  const fields = Object.entries(properties).map(([name, each]) => [name, strict(each)]);
  const open = rest.additionalProperties ?? rest['x-kubernetes-preserve-unknown-fields'];
  return {
    ...made,
    properties: Object.fromEntries(fields),
    ...(open === undefined ? { additionalProperties: false } : {}),
  };
}

const INT_OR_STRING = { anyOf: [{ type: 'integer' }, { type: 'string' }] };
const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const DEFINITIONS = 'definitions.json';
const referenceTo = (name: string): object => ({ $ref: `${DEFINITIONS}#/definitions/${name}` });

interface Definition extends OpenApi {
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

interface Crd {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: OpenApi } }[];
  };
}

/** The name in `SCHEMA_LOCATION`, where the core group is named by its version. */
const fileOf = (group: string, version: string, kind: string): string =>
  `${group || version}_${version}_${kind.toLowerCase()}.json`;
const SCHEMA_LOCATION = '{{ .Group }}_{{ .ResourceAPIVersion }}_{{ .ResourceKind }}.json';

function ofKubernetes(definitions: Record<string, Definition>): Record<string, unknown> {
  const kinds = Object.entries(definitions).flatMap(([name, { 'x-kubernetes-group-version-kind': names = [] }]) =>
    // Kinds with several versions are request options.
    names.length === 1
      ? names.map(({ group, version, kind }) => [fileOf(group, version, kind), referenceTo(name)])
      : [],
  );
  const quantity = { anyOf: [{ type: 'string' }, { type: 'number' }] };
  const all = { ...(strict(definitions) as object), [QUANTITY]: quantity };
  return { ...Object.fromEntries(kinds), [DEFINITIONS]: { definitions: all } };
}

function ofCrd({ spec }: Crd): Record<string, unknown> {
  return Object.fromEntries(
    spec.versions.map(({ name, schema }) => {
      const own = schema.openAPIV3Schema;
      const fields = { ...own.properties, apiVersion: { type: 'string' }, kind: { type: 'string' } };
      const made = strict({ ...own, properties: fields }) as { properties: object };
      return [
        fileOf(spec.group, name, spec.names.kind),
        { ...made, properties: { ...made.properties, metadata: referenceTo(META) } },
      ];
    }),
  );
}

/**
 * Writes a strict JSON schema to `folder` for every kind in the chart. @returns their location for kubeconform. @throws
 * LocalError
 */
export async function writeSchemas(folder: string): Promise<string> {
  const from = await sources();
  const read = (file: string): Promise<string> => readFile(file, 'utf8');
  const { definitions } = JSON.parse(await read(join(from, OPENAPI))) as { definitions: Record<string, Definition> };
  const found = await readdir(from, { recursive: true });
  const crds = found.filter((file) => file.endsWith('.yaml')).map((file) => join(from, file));
  crds.push(`${CHART}/files/userswarms.uswarm.dev.yaml`);
  const files = [
    ofKubernetes(definitions),
    ...(await Promise.all(crds.map(async (file) => ofCrd(parse(await read(file)) as Crd)))),
  ];
  for (const [name, schema] of files.flatMap((each) => Object.entries(each))) {
    await writeFile(join(folder, name), JSON.stringify(schema));
  }
  return join(folder, SCHEMA_LOCATION);
}
