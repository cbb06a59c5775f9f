import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { eventually } from '@uswarm/testkit/eventually';
import {
  EXTRA_RUNTIME_NAMESPACES,
  HOST,
  KEPT_NODE,
  MODEL_SERVER,
  NAMESPACE,
  OIDC_ISSUER,
  PROVIDER_SECRET,
  RELEASE,
  SEARCH_UPSTREAM,
  STORAGE_SECRET,
} from './fixtures.js';
import { imageOf, type Images, type Settings } from './settings.js';
import type { Tools } from './tools.js';

export const CHART = path.resolve(import.meta.dirname, '../../charts/uswarm');

/** Idle timeout in seconds: short for tests, and longer than the pause between two messages. */
export const IDLE_SUSPEND_AFTER_S = 25;

/** Audience of the development issuer's tokens. */
const AUDIENCE = 'uswarm-app';

interface ImageValues {
  registry: string;
  repository: string;
  tag: string;
}

/** Splits `<registry>/<repository>:<tag>` into values of the chart. */
function imageValues(reference: string): ImageValues {
  const match = /^([^/]+)\/(.+):([^:/]+)$/.exec(reference);
  if (match === null) throw new Error(`"${reference}" is not <registry>/<repository>:<tag>`);
  const [, registry = '', repository = '', tag = ''] = match;
  return { registry, repository, tag };
}

type Service = 'orchestrator' | 'gateway' | 'modelGateway' | 'webhook' | 'controller' | 'searxngClient' | 'runtime';

/** The image values of services and runtimes. */
export function serviceImages(images: Images, prefix = ''): Record<Service, { image: ImageValues }> {
  const image = (name: string): { image: ImageValues } => ({ image: imageValues(imageOf(images, `${prefix}${name}`)) });
  return {
    orchestrator: image('orchestrator'),
    gateway: image('realtime-gateway'),
    modelGateway: image('model-gateway'),
    webhook: image('uswarm-webhook'),
    controller: image('uswarm-controller'),
    searxngClient: image('searxng-client'),
    runtime: image('agent-runtime'),
  };
}

/** The values of the release: evaluation mode, local images, fixtures instead of external services. */
export function releaseValues(images: Images) {
  const image = (name: string): { image: ImageValues } => ({ image: imageValues(imageOf(images, name)) });
  const { runtime, ...services } = serviceImages(images);
  return {
    ...services,
    nonProduction: { oidcAllowHttp: true },
    // Workspaces use the demo provider unless a test selects another.
    modelGateway: {
      ...services.modelGateway,
      openai: { enabled: true, baseUrl: MODEL_SERVER, model: 'scripted-model' },
      resources: { requests: { cpu: '10m' } },
    },
    secrets: { modelProviders: { existingSecret: PROVIDER_SECRET.name } },
    evaluation: {
      enabled: true,
      postgres: { ...image('postgres'), persistence: { enabled: false }, podSecurityContext: unprivileged },
      valkey: { ...image('valkey'), podSecurityContext: unprivileged },
    },
    oidc: { issuers: [{ issuer: OIDC_ISSUER, audience: AUDIENCE }] },
    // The page cannot sign requests. `rotated-keys` requires signatures instead.
    web: { enabled: true, clientId: AUDIENCE },
    signature: { mode: 'off' },
    http: { trustedProxies: ['uniquelocal'] },
    ingress: { enabled: true, host: HOST, tls: { secretName: 'uswarm-tls' } },
    searxng: { ...image('searxng'), engines: [controlledEngine], podSecurityContext: unprivileged },
    networkPolicy: {
      modelGateway: { egressAllowRules: { inCluster: [{ ...inNamespace(NAMESPACE.models), ports: [8080] }] } },
      searxng: { egressAllowRules: { inCluster: [{ ...inNamespace(NAMESPACE.search), ports: [8080] }] } },
    },
    runtime: {
      ...runtime,
      // For tests with images that do not exist or are not runtimes.
      imagePrefixes: ['localhost/uswarm/', 'localhost/uswarm-test/'],
      extraNamespaces: EXTRA_RUNTIME_NAMESPACES,
      defaultProvider: 'demo',
      // Many start concurrently on a node with two cores.
      pods: { resources: { requests: { cpu: '10m' } } },
      // More than the nodes have, so that a test can request it.
      maxResources: { cpu: '1000' },
      idleSuspendAfterSeconds: IDLE_SUSPEND_AFTER_S,
    },
  };
}

/** Two replicas on any nodes, and stores on the node that tests never stop. */
function severalNodes(values: ReturnType<typeof releaseValues>): object {
  const anywhere = { nodeSelector: { 'kubernetes.io/os': 'linux' } };
  const twice = { ...anywhere, replicas: 2 };
  return {
    ...values,
    defaults: { nodeSelector: KEPT_NODE },
    orchestrator: { ...values.orchestrator, ...twice },
    gateway: { ...values.gateway, ...twice },
    webhook: { ...values.webhook, ...twice },
    controller: { ...values.controller, ...twice },
    modelGateway: { ...values.modelGateway, ...twice },
    searxngClient: { ...values.searxngClient, ...twice },
    // Longer than a test, so that no runtime is suspended for idleness.
    runtime: { ...values.runtime, idleSuspendAfterSeconds: 36_000 },
    // The orchestrator's replicas need a bucket. These tests send no files.
    objectStorage: { bucket: 'unused', endpoint: 'http://unused.invalid' },
    secrets: { ...values.secrets, objectStorage: { existingSecret: STORAGE_SECRET.name } },
  };
}

const inNamespace = (name: string): object => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
});

const unprivileged = { runAsUser: 65_532, runAsGroup: 65_532, fsGroup: 65_532 };

/** A search engine whose results the tests define. */
const controlledEngine = {
  name: 'controlled',
  engine: 'json_engine',
  shortcut: 'ctl',
  categories: 'general',
  enable_http: true,
  search_url: `${SEARCH_UPSTREAM}/search?q={query}`,
  results_query: 'results',
  url_query: 'url',
  title_query: 'title',
  content_query: 'content',
  timeout: 4,
};

interface ReleaseDeps {
  tools: Tools;
  settings: Pick<Settings, 'artifacts' | 'images' | 'nodes'>;
}

const valuesFile = ({ artifacts }: Pick<Settings, 'artifacts'>): string => path.join(artifacts, 'values.json');

export async function isInstalled(tools: Tools): Promise<boolean> {
  return (await tools.helm(['status', RELEASE, '-n', NAMESPACE.release], { mayFail: true })).code === 0;
}

/**
 * Installs the chart, or upgrades the release of an earlier run to it. The output of helm goes to the artifacts.
 *
 * @returns what it did
 */
export async function ensureRelease({ settings, tools }: ReleaseDeps): Promise<'install' | 'upgrade'> {
  await mkdir(settings.artifacts, { recursive: true });
  const values = valuesFile(settings);
  const base = releaseValues(settings.images);
  await writeFile(values, JSON.stringify(settings.nodes === 1 ? base : severalNodes(base), undefined, 2));
  const verb = (await isInstalled(tools)) ? 'upgrade' : 'install';
  const started = performance.now();
  const { stdout, stderr } = await tools.helm(
    [verb, RELEASE, CHART, '-n', NAMESPACE.release, '--create-namespace', '-f', values, '--wait', '--timeout', '5m'],
    { timeoutMs: 330_000 },
  );
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const command = `$ helm ${verb} ${RELEASE} charts/uswarm -n ${NAMESPACE.release} --create-namespace -f values.json --wait`;
  await writeFile(
    path.join(settings.artifacts, `helm-${verb}.txt`),
    `${command}\n${stdout}${stderr}\n(${seconds} s until everything was available)\n`,
  );
  return verb;
}

/** Installs the release again after a test has removed it. */
export async function installRelease({ settings, tools }: ReleaseDeps, changes: object = {}): Promise<void> {
  const values = ['-f', valuesFile(settings), '-f', '-'];
  await tools.helm(['install', RELEASE, CHART, '-n', NAMESPACE.release, ...values, '--wait', '--timeout', '5m'], {
    input: JSON.stringify(changes),
    timeoutMs: 330_000,
  });
}

/** The manifests of `helm template`, as tools other than Helm apply them. */
export async function templateRelease({ settings, tools }: ReleaseDeps, changes: object): Promise<string> {
  const values = ['-f', valuesFile(settings), '-f', '-'];
  const { stdout } = await tools.helm(
    ['template', RELEASE, CHART, '-n', NAMESPACE.release, '--skip-tests', ...values],
    {
      input: JSON.stringify(changes),
      timeoutMs: 60_000,
    },
  );
  return stdout;
}

/** @returns the output of helm and the log of the drain */
export async function uninstallRelease({ settings, tools }: ReleaseDeps): Promise<string> {
  const { stdout, stderr } = await tools.helm(['uninstall', RELEASE, '-n', NAMESPACE.release], { timeoutMs: 400_000 });
  const command = `$ helm uninstall ${RELEASE} -n ${NAMESPACE.release}`;
  await appendFile(path.join(settings.artifacts, 'helm-uninstall.txt'), `${command}\n${stdout}${stderr}\n`);
  return stdout + stderr;
}

/** Changes values or chart of the installed release and waits for its rollout. */
export async function upgradeRelease(
  { settings, tools }: ReleaseDeps,
  changes: object,
  chart: string = CHART,
): Promise<void> {
  await tools.helm(
    [
      'upgrade',
      RELEASE,
      chart,
      '-n',
      NAMESPACE.release,
      // An older chart does not know all of our values, and its definition of UserSwarm differs from the one that other
      // tests may have applied by other means.
      ...(chart === CHART ? [] : ['--skip-schema-validation', '--force-conflicts']),
      '-f',
      valuesFile(settings),
      '-f',
      '-',
      '--wait',
      '--timeout',
      '3m',
    ],
    { input: JSON.stringify(changes), timeoutMs: 200_000 },
  );
  // Pods with the previous settings respond for some more seconds.
  const webhooks = ['get', 'pods', '-n', NAMESPACE.release, '-l', 'app.kubernetes.io/component=webhook', '-o', 'json'];
  await eventually(
    async () => {
      const { stdout } = await tools.kubectl(webhooks);
      const { items } = JSON.parse(stdout) as { items: { metadata: { deletionTimestamp?: string } }[] };
      return items.every(({ metadata }) => metadata.deletionTimestamp === undefined);
    },
    { description: 'only webhooks of the new settings answer', timeoutMs: 60_000 },
  );
}
