/**
 * Test cases for the admission policy. The webhook and the chart's ValidatingAdmissionPolicy must decide them equally.
 */
export const POLICY_LISTS = {
  runtimeNamespaces: ['userswarms', 'team-a'],
  // The chart adds the default image's repository as the first prefix.
  imagePrefixes: ['registry.test/uswarm/agent-runtime', 'registry.test/team', 'mirror.test:5000/', 'pinned.test/app@'],
  sharedEnvSecrets: ['uswarm-model-env', 'more.keys'],
  maxCpu: ['2'],
  maxMemory: ['4Gi'],
} as const;

/** Image for a UserSwarm without `runtime.image`. */
export const DEFAULT_IMAGE = 'registry.test/uswarm/agent-runtime:1.2.3';

const DIGEST = '0'.repeat(64);

/** UserSwarm name in every case. */
export const POLICY_CASE_NAME = 'workspace-a';

interface Quantities {
  cpu?: string;
  memory?: string;
}

export interface PolicyCase {
  title: string;
  spec: {
    placement?: { runtimeNamespace: string };
    runtime?: { image?: string; resources?: { requests?: Quantities; limits?: Quantities } };
    config?: { envSecretRef: { name: string } };
  };
  /** Denial message; absent if the spec is allowed. */
  denied?: string;
}

const image = (reference: string, allowed: boolean): PolicyCase => ({
  title: `the image ${reference === '' ? 'of the platform' : reference}`,
  spec: { runtime: { image: reference } },
  ...(allowed ? {} : { denied: `The image ${reference} is not allowed.` }),
});
const secret = (name: string, allowed: boolean): PolicyCase => ({
  title: `the Secret ${name}`,
  spec: { config: { envSecretRef: { name } } },
  ...(allowed ? {} : { denied: `The Secret ${name} is neither the workspace's own nor a shared one.` }),
});
const resources = (kind: 'requests' | 'limits', quantities: Quantities, denied?: string): PolicyCase => ({
  title: `${kind} of ${JSON.stringify(quantities)}`,
  spec: { runtime: { resources: { [kind]: quantities } } },
  ...(denied === undefined ? {} : { denied: `spec.runtime.resources.${kind}.${denied}` }),
});
const namespace = (name: string, allowed: boolean): PolicyCase => ({
  title: `the namespace ${name}`,
  spec: { placement: { runtimeNamespace: name } },
  ...(allowed ? {} : { denied: `The namespace ${name} is not one for runtimes.` }),
});

export const POLICY_CASES: readonly PolicyCase[] = [
  { title: 'an empty spec', spec: {} },
  namespace('userswarms', true),
  namespace('team-a', true),
  namespace('team', false),
  namespace('kube-system', false),
  namespace('backend', false),
  image('', true),
  image(DEFAULT_IMAGE, true),
  image('registry.test/uswarm/agent-runtime', true),
  image('registry.test/uswarm/agent-runtime:9', true),
  image(`registry.test/uswarm/agent-runtime@sha256:${DIGEST}`, true),
  image('registry.test/uswarm/agent-runtime/debug:1', true),
  image('registry.test/uswarm/agent-runtime-debug:1', false),
  image('registry.test/uswarm/orchestrator:1', false),
  image('registry.test/team', true),
  image('registry.test/team:1', true),
  image('registry.test/team/app:1', true),
  image('registry.test/team-of-others/app:1', false),
  image('registry.test/teams/app:1', false),
  image('registry.test/tea', false),
  image('mirror.test:5000/anything:1', true),
  image('mirror.test:5000', false),
  image('mirror.test:50000/anything:1', false),
  image(`pinned.test/app@sha256:${DIGEST}`, true),
  image('pinned.test/app:1', false),
  image('elsewhere.test/registry.test/team:1', false),
  image('REGISTRY.test/team:1', false),
  image('docker.io/library/busybox', false),
  secret('workspace-a-env', true),
  secret('uswarm-model-env', true),
  secret('more.keys', true),
  secret('workspace-b-env', false),
  secret('workspace-a', false),
  secret('workspace-a-envs', false),
  secret('more', false),
  secret('more-keys', false),
  secret('uswarm-runtime-stores', false),
  resources('limits', { cpu: '2', memory: '4096Mi' }),
  resources('requests', { cpu: '2000m', memory: '4Gi' }),
  resources('limits', { cpu: '64' }, 'cpu: 64 is more than the maximum of 2.'),
  resources('requests', { cpu: '2001m' }, 'cpu: 2001m is more than the maximum of 2.'),
  resources('limits', { memory: '1Ti' }, 'memory: 1Ti is more than the maximum of 4Gi.'),
  resources('requests', { memory: '4097Mi' }, 'memory: 4097Mi is more than the maximum of 4Gi.'),
  {
    title: 'a namespace, an image and a Secret that are allowed',
    spec: {
      placement: { runtimeNamespace: 'team-a' },
      runtime: { image: 'registry.test/team/app:1' },
      config: { envSecretRef: { name: 'workspace-a-env' } },
    },
  },
  {
    title: 'an allowed image and the Secret of another workspace',
    spec: { runtime: { image: 'registry.test/team/app:1' }, config: { envSecretRef: { name: 'workspace-b-env' } } },
    denied: "The Secret workspace-b-env is neither the workspace's own nor a shared one.",
  },
];
