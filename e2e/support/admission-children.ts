import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type SyncRequest, USERSWARM_API_VERSION, UserSwarmSpec } from '@uswarm/contract/userswarm';
import { generateCallKeys } from '@uswarm/service-kit';
import { loadWebhookConfig, render, type RenderSettings } from '@uswarm/webhook';
import { parseAllDocuments } from 'yaml';
import { applyManifest, policyInForce, renderAdmission } from './admission-policy.js';
import { NAMESPACE, namespaceObject } from './fixtures.js';
import type { Tools } from './tools.js';

export interface Child {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace: string; labels: Record<string, string>; [field: string]: unknown };
  [field: string]: unknown;
}
export interface RenderedChildren {
  Deployment: Child;
  Service: Child;
  ServiceAccount: Child;
}

export interface Container {
  env: { name: string; value?: string; valueFrom?: object }[];
  ports: Record<string, unknown>[];
  resources: { limits: Record<string, string> };
  volumeMounts: object[];
  securityContext: object;
  [field: string]: unknown;
}
export interface Pod {
  containers: [Container, ...Container[]];
  volumes: object[];
  securityContext: Record<string, unknown>;
  [field: string]: unknown;
}
export interface Template {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: Pod;
}
export const specOf = (
  child: Child,
): Record<string, unknown> & { ports: Record<string, unknown>[]; template: Template } =>
  child['spec'] as ReturnType<typeof specOf>;
export const podOf = (child: Child): Pod => specOf(child).template.spec;
export const containerOf = (child: Child): Container => podOf(child).containers[0];

/** The chart's policies for children, for a release that is not installed, and the children that its webhook renders. */
export interface AdmissionOfChildren {
  /** Children of an existing UserSwarm. */
  children: RenderedChildren;
  /** The children of that UserSwarm with this spec. */
  rendered(spec: object): Promise<RenderedChildren>;
  /** The error from a dry run as the controller or another user; undefined if it is accepted. */
  refusal(child: object, as?: 'controller' | 'administrator', verb?: 'create' | 'replace'): Promise<string | undefined>;
  close(): Promise<void>;
}

interface Manifest {
  kind: string;
  data?: Record<string, string>;
  spec?: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } };
}

/** @param runtime values below `runtime` */
export async function openAdmissionOfChildren(
  tools: Tools,
  { name, runtime, values }: { name: string; runtime: object; values?: object },
): Promise<AdmissionOfChildren> {
  const userSwarm = `workspace-${name}-${randomBytes(4).toString('hex')}`;
  const controller = `system:serviceaccount:${name}:${name}-controller`;
  const release = {
    name,
    runtime: { namespace: NAMESPACE.runtime, image: { registry: 'registry.test', repository: 'runtime' }, ...runtime },
    ...(values === undefined ? {} : { values }),
  };
  const policies = await renderAdmission(tools, { ...release, templates: ['deployments', 'children'] });
  const settings = await settingsOfWebhook(
    await renderAdmission(tools, { ...release, templates: [] }, ['webhook/deployment']),
  );
  const closing: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const step of closing.splice(0).toReversed()) await step();
  };
  const refusal: AdmissionOfChildren['refusal'] = (child, as = 'controller', verb = 'create') => {
    // With all permissions, so that only policies refuse.
    const user = as === 'controller' ? ['--as', controller, '--as-group', 'system:masters'] : [];
    const input = JSON.stringify(child);
    return tools.kubectl([verb, '--dry-run=server', ...user, '-f', '-'], { input }).then(
      () => undefined,
      (error: Error) => / denied request: (PolicyDenied: .*)/.exec(error.message)?.[1] ?? error.message,
    );
  };
  try {
    closing.push(await applyManifest(tools, JSON.stringify(namespaceObject(name))));
    closing.push(await applyManifest(tools, policies));
    const uid = await createUserSwarm(tools, userSwarm);
    closing.push(() => tools.kubectl(['delete', 'uswarm', userSwarm, '--ignore-not-found', '--wait=false']));
    const rendered = async (spec: object): Promise<RenderedChildren> =>
      renderChildren(settings, { name: userSwarm, uid }, spec);
    const children = await rendered({ config: { envSecretRef: { name: `${userSwarm}-env` } } });
    for (const child of Object.values(children)) {
      await policyInForce(() => refusal(ownedBy(child, [])), /PolicyDenied: A child must/);
    }
    // The API server discovers the parameter kind up to half a minute later.
    const impostor = ownedBy(children.Deployment, [{ ...ownerReference(userSwarm), uid: 'made-up' }]);
    await policyInForce(() => refusal(impostor), /PolicyDenied: The uid of the owner/);
    return { children, rendered, refusal, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Has no provider that a runtime knows, so an installed release creates no children for it. */
async function createUserSwarm({ kubectl }: Pick<Tools, 'kubectl'>, name: string): Promise<string> {
  const spec = { userId: name, suspend: true, config: { defaultProvider: 'e2e-unknown' } };
  const object = { apiVersion: USERSWARM_API_VERSION, kind: 'UserSwarm', metadata: { name }, spec };
  const { stdout } = await kubectl(['create', '-o', 'json', '-f', '-'], { input: JSON.stringify(object) });
  return (JSON.parse(stdout) as { metadata: { uid: string } }).metadata.uid;
}

/** The settings that the release's webhook reads from its environment. */
async function settingsOfWebhook(manifest: string): Promise<RenderSettings> {
  const manifests = parseAllDocuments(manifest).map((document) => document.toJS() as Manifest | null);
  const env = manifests.find((object) => object?.kind === 'Deployment')?.spec?.template.spec.containers[0]?.env ?? [];
  const lists = manifests.find((object) => object?.kind === 'ConfigMap')?.data ?? {};
  const folder = await mkdtemp(path.join(tmpdir(), 'uswarm-policy-'));
  try {
    for (const [list, text] of Object.entries(lists)) await writeFile(path.join(folder, list), text);
    const { settings } = await loadWebhookConfig({
      ...Object.fromEntries(env.map(({ name, value }) => [name, value ?? 'x'.repeat(32)])),
      SYNC_TOKEN: 'x'.repeat(32),
      USWARM_CALL_PUBLIC_KEY: generateCallKeys().publicKey,
      POLICY_DIRECTORY: folder,
    });
    return settings;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function renderChildren(
  settings: RenderSettings,
  owner: { name: string; uid: string },
  spec: object,
): RenderedChildren {
  const request: SyncRequest = {
    controller: {
      apiVersion: 'metacontroller.k8s.io/v1alpha1',
      kind: 'CompositeController',
      metadata: { name: 'e2e' },
    },
    parent: {
      apiVersion: USERSWARM_API_VERSION,
      kind: 'UserSwarm',
      metadata: { ...owner, generation: 1 },
      spec: UserSwarmSpec.parse({ userId: 'user-1', ...spec }),
    },
    children: { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} },
    related: {},
    finalizing: false,
  };
  const { children, status } = render(request, settings, { database: 'unset', now: new Date() });
  const byKind = (kind: string): Child => {
    const child = children.find((object) => object.kind === kind) as Child | undefined;
    if (child === undefined) throw new Error(`no ${kind}: ${JSON.stringify(status)}`);
    return ownedBy(child, [{ ...ownerReference(owner.name), uid: owner.uid }]);
  };
  return {
    Deployment: byKind('Deployment'),
    Service: byKind('Service'),
    ServiceAccount: byKind('ServiceAccount'),
  };
}

const ownerReference = (name: string): object => ({
  apiVersion: USERSWARM_API_VERSION,
  kind: 'UserSwarm',
  name,
  controller: true,
});

const ownedBy = (child: Child, ownerReferences: object[]): Child => ({
  ...child,
  metadata: { ...child.metadata, ownerReferences },
});
