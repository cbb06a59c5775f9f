import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { kubeTools } from '@uswarm/testkit';
import { loadAll } from 'js-yaml';

const run = promisify(execFile);

export const repositoryFile = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
export const CHART = repositoryFile('charts/uswarm');

/** Release name in the documentation. */
const RELEASE = 'uswarm';
const NAMESPACE = 'backend';

/** The manifest parts that tests use. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  // oxlint-disable-next-line typescript/no-explicit-any
  [field: string]: any;
}

/** Registry for the project's images. */
export const REGISTRY = 'registry.example.com/team';

/** Renders the hooks of Helm, which `auto` omits without a cluster. */
const HELM_HOOKS = { hooks: 'helm' };

/** The smallest installable values. */
export const evaluation = {
  drain: HELM_HOOKS,
  images: { registry: REGISTRY },
  evaluation: { enabled: true },
  oidc: { issuers: [{ issuer: 'https://login.example.com', audience: 'app' }] },
};

/** Values for a release with a model provider, in addition to evaluation values. */
export const modelProvider = {
  modelGateway: { openai: { enabled: true, model: 'model-a' } },
  secrets: { modelProviders: { existingSecret: 'my-models' } },
};

const SECRETS = [
  'database',
  'realtime',
  'internalApi',
  'admin',
  'cursor',
  'identityHash',
  'signature',
  'callKey',
  'mcpSigning',
  'modelProviders',
  'modelToken',
  'modelCalls',
  'sync',
  'searxng',
  'objectStorage',
  'integrations',
  'push',
  'e2e',
];

/** Existing Secrets, external stores and a model provider. */
export const external = {
  drain: HELM_HOOKS,
  images: evaluation.images,
  oidc: evaluation.oidc,
  secrets: Object.fromEntries(SECRETS.map((name) => [name, { existingSecret: `my-${name.toLowerCase()}` }])),
  modelGateway: modelProvider.modelGateway,
  objectStorage: { bucket: 'my-files' },
};

export interface RenderOptions {
  release?: string;
  namespace?: string;
  /** Additional value files. */
  files?: readonly string[];
}

/** Runs helm with the chart and `values`. @returns its output. @throws an error with its stderr. */
export async function helm(verb: readonly string[], values: object, options: RenderOptions = {}): Promise<string> {
  const { release = RELEASE, namespace = NAMESPACE, files = [] } = options;
  const target = verb[0] === 'lint' ? [CHART] : [release, CHART, '-n', namespace];
  const from = [...files.flatMap((file) => ['-f', file]), '-f', '-'];
  const started = run((await kubeTools()).helm, [...verb, ...target, ...from], {
    maxBuffer: 16 * 1024 * 1024,
    timeout: 60_000,
    // No cluster: the result of `lookup` must not depend on the machine.
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], KUBECONFIG: '/dev/null' },
  });
  started.child.stdin?.end(JSON.stringify(values));
  return (await started).stdout;
}

/** The objects that helm would send to the cluster. */
export async function render(values: object, options: RenderOptions = {}): Promise<Manifest[]> {
  return parseManifests(await helm(['template'], values, options));
}

/** With a parser that needs a quarter of `yaml`'s time: a release has 130 KB. */
export function parseManifests(text: string): Manifest[] {
  const documents = loadAll(text) as (Manifest | null | undefined)[];
  return documents.filter((manifest) => manifest !== null && manifest !== undefined);
}

/** The message with which helm rejects `values`. */
export async function rejection(values: object, options: RenderOptions = {}): Promise<string> {
  try {
    await helm(['template'], values, options);
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    return (stderr ?? String(error)).replace(/^Error: execution error at \([^)]*\): /, '').split('\n\nUse --debug')[0]!;
  }
  throw new Error('helm did not reject these values');
}

export function find(manifests: readonly Manifest[], kind: string, name: string, namespace?: string): Manifest {
  const found = manifests.find(
    (manifest) =>
      manifest.kind === kind &&
      manifest.metadata.name === name &&
      (namespace === undefined || manifest.metadata.namespace === namespace),
  );
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

export const ofKind = (manifests: readonly Manifest[], kind: string): Manifest[] =>
  manifests.filter((manifest) => manifest.kind === kind);

/** Every pod in the release: from Deployments and from hooks. */
export interface PodTemplate {
  owner: string;
  /** The hook event; undefined for permanent objects. */
  hook: string | undefined;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  // oxlint-disable-next-line typescript/no-explicit-any
  spec: any;
}

export function podTemplates(manifests: readonly Manifest[]): PodTemplate[] {
  return manifests.flatMap((manifest) => {
    const template = manifest.kind === 'Pod' ? manifest : manifest['spec']?.template;
    if (template?.spec?.containers === undefined) return [];
    const { labels = {}, annotations = {} } = template.metadata;
    const hook = manifest.metadata.annotations?.['helm.sh/hook'];
    return [{ owner: manifest.metadata.name, hook, labels, annotations, spec: template.spec }];
  });
}

export interface Container {
  name: string;
  image: string;
  imagePullPolicy: string;
  args?: string[];
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string; key: string } } }[];
  securityContext: object;
  resources: { requests: Record<string, string>; limits: Record<string, string> };
  ports?: { name: string; containerPort: number }[];
  startupProbe?: object;
  livenessProbe?: object;
  readinessProbe?: object;
  volumeMounts?: { name: string; mountPath: string }[];
}

export const containersOf = ({ spec }: PodTemplate): Container[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
];

export function container(manifests: readonly Manifest[], owner: string, name: string): Container {
  const pod = podTemplates(manifests).find((template) => template.owner === owner);
  const found = pod === undefined ? undefined : containersOf(pod).find((each) => each.name === name);
  if (found === undefined) throw new Error(`${owner} has no container ${name}`);
  return found;
}

/** A container's environment, with secrets from the rendered Secret. */
export function environmentOf(manifests: readonly Manifest[], { env = [] }: Container): Record<string, string> {
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => {
      const ref = valueFrom?.secretKeyRef;
      if (ref === undefined) return [name, value ?? `from ${JSON.stringify(valueFrom)}`];
      const secret = manifests.find((each) => each.kind === 'Secret' && each.metadata.name === ref.name);
      const text: unknown = secret?.['stringData']?.[ref.key];
      if (typeof text !== 'string') throw new Error(`${name}: there is no ${ref.key} in Secret ${ref.name}`);
      return [name, text];
    }),
  );
}
