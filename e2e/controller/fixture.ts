import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpMethod } from '@kubernetes/client-node';
import type { KubernetesObject } from '@uswarm/kube-client';
import { createLogger, Registry, silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { type Controller, type ControllerOptions, createController } from '@uswarm/controller';
import { createWebhookApp, loadWebhookConfig } from '@uswarm/webhook';
import { createKubeApi, type KubeApi, KubeApiError, loadKubeConfig } from '../support/kube-api.js';
import { imageOf, loadSettings, type Settings } from '../support/settings.js';
import { throwawayCrd } from '../support/throwaway-crd.js';
import { type FaultProxy, startFaultProxy } from './fault-proxy.js';
import { type HookServer, startHookServer } from './hook-server.js';

/** Object key; `namespace` only for namespaced kinds. */
export interface ObjectKey {
  kind: string;
  namespace?: string | undefined;
  name: string;
}

/**
 * A separate resource kind that only this fixture's controllers reconcile, with separate namespaces, the real webhook,
 * and a fault-injection proxy in front of the API server.
 */
export interface ControllerFixture {
  settings: Settings;
  api: KubeApi;
  proxy: FaultProxy;
  hook: HookServer;
  /** Webhook token. */
  token: string;
  /** The apiVersion of this fixture's UserSwarms. */
  apiVersion: string;
  namespace: string;
  /** Allowed namespaces that do not exist yet. */
  spareNamespaces: readonly string[];
  /** Lets every webhook rendering fail. */
  setRenderingFault(broken: boolean): void;
  start(overrides?: Partial<ControllerOptions>): Promise<RunningController>;
  get(key: ObjectKey): Promise<KubernetesObject | undefined>;
  list(kind: string, namespace?: string): Promise<KubernetesObject[]>;
  /** Server-side apply. */
  apply(object: KubernetesObject): Promise<KubernetesObject>;
  /** Merge patch. */
  patch(key: ObjectKey, patch: object): Promise<KubernetesObject>;
  delete(key: ObjectKey): Promise<void>;
  /** Deletes the resource kind with its objects. @returns what `createCrd` creates again */
  deleteCrd(): Promise<object>;
  createCrd(crd: object): Promise<void>;
  close(): Promise<void>;
}

export interface RunningController extends Controller {
  registry: Registry;
  /** The sum of a metric's values with these labels. */
  metric(name: string, labels?: Record<string, string>): Promise<number>;
}

const TOKEN = 'fixture-'.repeat(5);
/** Seconds; short, so that a test observes several periods. */
export const FIXTURE_RESYNC_S = 5;

/** @param runtimePods value of `RUNTIME_PODS` for the webhook */
export async function openFixture(spares = 0, runtimePods: object = {}): Promise<ControllerFixture> {
  const settings = loadSettings();
  const original = loadKubeConfig(settings);
  const api = createKubeApi(original);
  const id = randomBytes(4).toString('hex');
  const group = `faults-${id}.uswarm.test`;
  const namespace = `uswarm-fixture-${id}`;
  const spareNamespaces = Array.from({ length: spares }, (_, at) => `${namespace}-${at}`);
  const proxy = await startFaultProxy(original);
  const rendering = { broken: false };
  const hook = await startHookServer(
    await webhook(settings, [namespace, ...spareNamespaces], { rendering, runtimePods }),
  );
  const running: Controller[] = [];
  const objects = createObjects(api, group);

  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const crdName = `userswarms.${group}`;
  const createCrd = async (crd: object): Promise<void> => {
    await api.request(HttpMethod.POST, crds, { body: crd });
    await eventually(() => objects.list('UserSwarm'), {
      description: 'the API server serves the kind of this fixture',
      timeoutMs: 30_000,
    });
  };
  await createCrd(await lenientCrd(group));
  await api.create('Namespace', { metadata: { name: namespace } });

  return {
    settings,
    api,
    proxy,
    hook,
    token: TOKEN,
    apiVersion: `${group}/v1alpha1`,
    namespace,
    spareNamespaces,
    setRenderingFault: (broken) => void (rendering.broken = broken),
    ...objects,
    createCrd,
    async deleteCrd() {
      await api.request(HttpMethod.DELETE, `${crds}/${crdName}`);
      const isGone = async (): Promise<boolean> =>
        (await unlessNotFound(api.request(HttpMethod.GET, `${crds}/${crdName}`))) === undefined;
      await eventually(isGone, { description: 'the kind is deleted with its objects', timeoutMs: 120_000 });
      return lenientCrd(group);
    },
    async start(overrides = {}) {
      const registry = new Registry();
      const controller = await createController({
        kubeConfig: proxy.config,
        hook: { url: hook.url, token: TOKEN, timeoutMs: 2_000 },
        runtimeNamespaces: [namespace, ...spareNamespaces],
        resource: { group, version: 'v1alpha1', plural: 'userswarms', kind: 'UserSwarm' },
        resyncS: FIXTURE_RESYNC_S,
        identity: `fixture-${id}-${running.length}`,
        registry,
        logger:
          process.env['CONTROLLER_FIXTURE_LOG'] === undefined
            ? silentLogger
            : createLogger({ service: 'controller-fixture' }),
        ...overrides,
      });
      running.push(controller);
      return { ...controller, registry, metric: (name, labels) => sumOf(registry, name, labels) };
    },
    async close() {
      await proxy.restore();
      await hook.setMode('none');
      await removeUserSwarms(objects);
      for (const controller of running) await controller.stop();
      for (const name of [namespace, ...spareNamespaces]) await objects.delete({ kind: 'Namespace', name });
      await unlessNotFound(api.request(HttpMethod.DELETE, `${crds}/${crdName}`));
      await Promise.all([proxy.close(), hook.close()]);
    },
  };
}

const CORE = '/api/v1';
const PATHS: Readonly<Record<string, readonly [prefix: string, plural: string]>> = {
  Deployment: ['/apis/apps/v1', 'deployments'],
  Event: [CORE, 'events'],
  Lease: ['/apis/coordination.k8s.io/v1', 'leases'],
  Namespace: [CORE, 'namespaces'],
  Pod: [CORE, 'pods'],
  ResourceQuota: [CORE, 'resourcequotas'],
  Secret: [CORE, 'secrets'],
  Service: [CORE, 'services'],
  ServiceAccount: [CORE, 'serviceaccounts'],
};

type Objects = Pick<ControllerFixture, 'get' | 'list' | 'apply' | 'patch' | 'delete'>;

function createObjects(api: KubeApi, group: string): Objects {
  const path = (kind: string, namespace?: string, name?: string): string => {
    const [prefix, plural] =
      kind === 'UserSwarm' ? [`/apis/${group}/v1alpha1`, 'userswarms'] : (PATHS[kind] ?? ['', '']);
    return [
      prefix,
      ...(namespace === undefined ? [] : ['namespaces', namespace]),
      plural,
      ...(name === undefined ? [] : [name]),
    ].join('/');
  };
  const pathOf = ({ kind, namespace, name }: ObjectKey): string => path(kind, namespace, name);
  const object = async (
    method: HttpMethod,
    url: string,
    body?: object,
    contentType?: string,
  ): Promise<KubernetesObject> => {
    const options = { ...(body === undefined ? {} : { body }), ...(contentType === undefined ? {} : { contentType }) };
    return (await (await api.request(method, url, options)).json()) as KubernetesObject;
  };
  return {
    get: (key) => unlessNotFound(object(HttpMethod.GET, pathOf(key))),
    async list(kind, namespace) {
      const { items } = (await object(HttpMethod.GET, path(kind, namespace))) as unknown as {
        items: KubernetesObject[];
      };
      return items.map((item) => ({ ...item, kind }));
    },
    apply(given) {
      const own = given.kind === 'UserSwarm' ? { ...given, apiVersion: `${group}/v1alpha1` } : given;
      const { name, namespace } = own.metadata;
      const url = `${path(own.kind, namespace, name)}?fieldManager=fixture&force=true`;
      return object(HttpMethod.PATCH, url, own, 'application/apply-patch+yaml');
    },
    patch: (key, patch) => object(HttpMethod.PATCH, pathOf(key), patch, 'application/merge-patch+json'),
    async delete(key) {
      await unlessNotFound(object(HttpMethod.DELETE, pathOf(key)));
    },
  };
}

async function unlessNotFound<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Deletes a failed test's UserSwarms; removes their finalizers if the deletion does not complete. */
async function removeUserSwarms({ list, patch, delete: remove }: Objects): Promise<void> {
  for (const { metadata } of await list('UserSwarm')) await remove({ kind: 'UserSwarm', name: metadata.name });
  const none = async (): Promise<boolean> => (await list('UserSwarm')).length === 0;
  await eventually(none, { description: 'no UserSwarm is left', timeoutMs: 30_000 }).catch(async () => {
    for (const { metadata } of await list('UserSwarm')) {
      await unlessNotFound(patch({ kind: 'UserSwarm', name: metadata.name }, { metadata: { finalizers: null } }));
    }
  });
}

/** Without the rules for resources, so that the webhook receives specs that another schema version accepted. */
async function lenientCrd(group: string): Promise<object> {
  const crd = await throwawayCrd(group);
  return JSON.parse(JSON.stringify(crd, (_key, value: unknown) => withoutResourceRules(value))) as object;
}

/** The production webhook, with a policy for this fixture's namespaces. */
async function webhook(
  { images }: Settings,
  namespaces: readonly string[],
  { rendering, runtimePods }: { rendering: { broken: boolean }; runtimePods: object },
): Promise<ReturnType<typeof createWebhookApp>> {
  const policy = await mkdtemp(join(tmpdir(), 'uswarm-policy-'));
  await writeFile(join(policy, 'runtimeNamespaces'), namespaces.join('\n'));
  await writeFile(join(policy, 'imagePrefixes'), 'localhost/uswarm/\nlocalhost/uswarm-test/\n');
  const { publicKey } = generateKeyPairSync('ed25519');
  const config = await loadWebhookConfig({
    SYNC_TOKEN: TOKEN,
    POLICY_DIRECTORY: policy,
    RUNTIME_PODS: JSON.stringify(runtimePods),
    USWARM_CALL_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    SVC_AGENT_RUNTIME_IMAGE: imageOf(images, 'agent-runtime'),
    SVC_ORCHESTRATOR_ENDPOINT: 'http://orchestrator.invalid:8082',
    SVC_MCP_ENDPOINT: 'http://search.invalid:8080/mcp',
  });
  await rm(policy, { recursive: true });
  const renderSettings = {
    ...config.settings,
    get image() {
      if (rendering.broken) throw new Error('an injected rendering fault');
      return config.settings.image;
    },
  };
  return createWebhookApp({ ...config, settings: renderSettings, logger: silentLogger });
}

async function sumOf(registry: Registry, name: string, labels: Record<string, string> = {}): Promise<number> {
  const values = (await registry.getSingleMetric(name)?.get())?.values ?? [];
  const chosen = values.filter((value) =>
    Object.entries(labels).every(([label, wanted]) => (value.labels as Record<string, unknown>)[label] === wanted),
  );
  return chosen.reduce((sum, { value }) => sum + value, 0);
}

function withoutResourceRules(value: unknown): unknown {
  const schema = value as { properties?: { requests?: unknown; limits?: unknown } } | null;
  if (schema?.properties?.requests === undefined || schema.properties.limits === undefined) return value;
  return { ...schema, 'x-kubernetes-validations': undefined };
}
