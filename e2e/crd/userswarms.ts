import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ApiException, CustomObjectsApi, KubeConfig, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import {
  API_GROUP,
  API_VERSION,
  USERSWARM_API_VERSION,
  USERSWARM_KIND,
  USERSWARM_PLURAL,
  type UserSwarm,
} from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import { parse } from 'yaml';

const RESOURCE = { group: API_GROUP, version: API_VERSION, plural: USERSWARM_PLURAL };
const CRD = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  name: `${USERSWARM_PLURAL}.${API_GROUP}`,
};

/** Helm release metadata, so that a later installation adopts the CRD. */
const RELEASE_METADATA = {
  labels: { 'app.kubernetes.io/managed-by': 'Helm' },
  annotations: { 'meta.helm.sh/release-name': 'uswarm', 'meta.helm.sh/release-namespace': 'backend' },
};

/** Plain JSON: the typed client drops the fields `x-kubernetes-…`. */
export interface Crd {
  metadata: object;
  spec: object;
  status?: { conditions: { type: string; status: string }[] };
}

/** The API server's error for one field. */
export interface Cause {
  field: string;
  reason: string;
  message: string;
}

export interface Rejection {
  code: number;
  message: string;
  causes: Cause[];
}

/** The output of `kubectl get`. */
export interface Table {
  columnDefinitions: { name: string; priority: number }[];
  rows: { cells: unknown[] }[];
}

interface ApiResource {
  name: string;
  kind: string;
  namespaced: boolean;
  singularName: string;
  shortNames?: string[];
  categories?: string[];
}

/** UserSwarms on the cluster of this run. The `try` methods are dry runs: nothing is stored. */
export interface UserSwarms {
  tryCreate(name: string, spec: unknown, fieldValidation?: 'Strict' | 'Ignore'): Promise<UserSwarm>;
  tryPatch(name: string, patch: object): Promise<UserSwarm>;
  tryPatchStatus(name: string, status: object): Promise<UserSwarm>;
  /** Stores a suspended UserSwarm, which has no pod. `removeStored` deletes it. */
  store(spec: object): Promise<UserSwarm>;
  removeStored(): Promise<void>;
  /** UserSwarms that match a field selector, by name. */
  select(fieldSelector: string): Promise<string[]>;
  table(fieldSelector: string): Promise<Table>;
  discover(): Promise<ApiResource[]>;
  installedCrd(): Promise<Crd>;
}

export const uniqueName = (): string => `workspace-crd-${randomBytes(5).toString('hex')}`;

export const generatedCrd = async (): Promise<Crd> =>
  parse(await readFile(new URL('../../crds/userswarms.uswarm.dev.yaml', import.meta.url), 'utf8'));

/** Connects to the cluster of this run and installs the CRD if it is missing. */
export async function connect(): Promise<UserSwarms> {
  const config = loadConfig();
  const objects = config.makeApiClient(CustomObjectsApi);
  await ensureCrd(objects);
  const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
  const dryRun = 'All';
  const stored: string[] = [];
  return {
    tryCreate: (name, spec, fieldValidation = 'Strict') =>
      objects.createClusterCustomObject({ ...RESOURCE, body: manifest(name, spec), dryRun, fieldValidation }),
    tryPatch: (name, body) => objects.patchClusterCustomObject({ ...RESOURCE, name, body, dryRun }, merge),
    tryPatchStatus: (name, status) =>
      objects.patchClusterCustomObjectStatus({ ...RESOURCE, name, body: { status }, dryRun }, merge),
    store: async (spec) => {
      const body = manifest(uniqueName(), { ...spec, suspend: true });
      stored.push(body.metadata.name);
      return objects.createClusterCustomObject({ ...RESOURCE, body });
    },
    removeStored: async () => {
      await Promise.all(stored.map((name) => objects.deleteClusterCustomObject({ ...RESOURCE, name })));
    },
    select: async (fieldSelector) => {
      const { items } = (await objects.listClusterCustomObject({ ...RESOURCE, fieldSelector })) as {
        items: UserSwarm[];
      };
      return items.map(({ metadata }) => metadata.name);
    },
    table: (fieldSelector) =>
      objects.listClusterCustomObject(
        { ...RESOURCE, fieldSelector },
        setHeaderOptions('Accept', 'application/json;as=Table;v=v1;g=meta.k8s.io'),
      ),
    discover: async () => (await objects.getAPIResources(RESOURCE)).resources as ApiResource[],
    installedCrd: () => objects.getClusterCustomObject(CRD),
  };
}

/** The error with which the API server rejects an attempt. @throws Error when it accepts it */
export async function rejectionOf(attempt: Promise<unknown>): Promise<Rejection> {
  try {
    await attempt;
  } catch (error) {
    if (!(error instanceof ApiException)) throw error;
    const { message = '', details } = statusOf(error);
    const causes = (details?.causes ?? []).filter(({ field }) => field !== '<nil>').map(withoutValue);
    return { code: error.code, message, causes };
  }
  throw new Error('the API server accepts it');
}

interface Status {
  message?: string;
  details?: { causes?: Cause[] };
}

function statusOf({ body }: ApiException<unknown>): Status {
  return (typeof body === 'string' ? JSON.parse(body) : body) as Status;
}

/** Removes the rendered value, which differs between Kubernetes versions. */
function withoutValue({ field, reason, message }: Cause): Cause {
  return { field, reason, message: message.replace(/^(Invalid value: .*?|Forbidden|Required value): /s, '') };
}

function manifest(name: string, spec: unknown) {
  return { apiVersion: USERSWARM_API_VERSION, kind: USERSWARM_KIND, metadata: { name }, spec };
}

function loadConfig(): KubeConfig {
  const { E2E_KUBECONFIG: file = process.env.KUBECONFIG, E2E_CONTEXT: context } = process.env;
  if (file === undefined) throw new Error('E2E_KUBECONFIG names no cluster');
  const config = new KubeConfig();
  config.loadFromFile(file);
  if (context !== undefined) config.setCurrentContext(context);
  return config;
}

async function ensureCrd(objects: CustomObjectsApi): Promise<void> {
  const crd = await generatedCrd();
  const body = { ...crd, metadata: { ...crd.metadata, ...RELEASE_METADATA } };
  try {
    await objects.createClusterCustomObject({ ...CRD, body });
  } catch (error) {
    const exists = error instanceof ApiException && error.code === 409;
    if (!exists) throw error;
  }
  await eventually(() => objects.listClusterCustomObject({ ...RESOURCE, limit: 1 }), {
    description: 'the API server serves UserSwarms',
    timeoutMs: 30_000,
  });
}
