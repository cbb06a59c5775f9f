import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type SyncRequest, UserSwarmSpec } from '@uswarm/contract/userswarm';
import { generateCallKeys } from '@uswarm/service-kit';
import { render, type RenderSettings, runtimePods } from '@uswarm/webhook';
import { createTools, loadSettings, namespaceObject, type Tools } from '../support/index.js';
import { applyManifest, policyInForce, renderAdmission } from '../support/admission-policy.js';

// The chart's policy for a release that is not installed, in a separate namespace. The tests impersonate the
// ServiceAccount of its controller.
const NAME = 'e2e-admission-pods';
const NAMESPACE = `${NAME}-runtimes`;
const CONTROLLER = `system:serviceaccount:${NAME}:${NAME}-controller`;

interface Pod {
  containers: [Record<string, unknown> & { envFrom?: object[]; env: object[]; securityContext: object }];
  volumes: object[];
  [field: string]: unknown;
}
interface Deployment {
  metadata: { name: string; namespace: string };
  spec: { replicas: number; template: { spec: Pod } };
}

let tools: Tools;
let cleanUp: (() => Promise<void>) | undefined;
/** The Deployment that the webhook renders with all optional references, scaled to zero. */
let rendered: Deployment;

/** The error of a dry run as the controller or another user; undefined if it is accepted. */
async function refusal(deployment: Deployment, user: string | undefined = CONTROLLER): Promise<string | undefined> {
  const as = user === '' ? [] : ['--as', user];
  const input = JSON.stringify(deployment);
  return tools.kubectl(['create', '--dry-run=server', ...as, '-f', '-'], { input }).then(
    () => undefined,
    (error: Error) => / denied request: (PolicyDenied: .*)/.exec(error.message)?.[1] ?? error.message,
  );
}

function renderDeployment(): Deployment {
  const settings: RenderSettings = {
    image: 'registry.test/runtime:1',
    orchestratorEndpoint: 'http://orchestrator.test:8082',
    mcpEndpoint: 'http://search.test:8080/mcp',
    modelGateway: undefined,
    callPublicKey: generateCallKeys().publicKey,
    stores: [{ name: 'SVC_DATABASE_PASSWORD' }],
    pods: runtimePods.parse({ trustedCA: { configMap: 'company-ca', key: 'ca.crt' } }),
    policy: {
      runtimeNamespaces: new Set([NAMESPACE]),
      imagePrefixes: ['registry.test/'],
      sharedEnvSecrets: new Set(['uswarm-model-env']),
      maxResources: {},
    },
    platformRevision: 'e2e',
    rolloutGate: true,
    providers: new Set(['demo']),
  };
  const { children } = render(syncRequest(), settings, { database: 'unset', now: new Date() });
  const deployment = children.find(({ kind }) => kind === 'Deployment') as unknown as Deployment;
  return { ...deployment, spec: { ...deployment.spec, replicas: 0 } };
}

const syncRequest = (): SyncRequest => ({
  controller: {
    apiVersion: 'metacontroller.k8s.io/v1alpha1',
    kind: 'CompositeController',
    metadata: { name: 'userswarm-controller' },
  },
  parent: {
    apiVersion: 'uswarm.dev/v1alpha1',
    kind: 'UserSwarm',
    metadata: { name: 'workspace-a', uid: 'uid-of-the-userswarm', generation: 1 },
    spec: UserSwarmSpec.parse({
      userId: 'user-1',
      placement: { runtimeNamespace: NAMESPACE },
      config: { envSecretRef: { name: 'workspace-a-env' } },
    }),
  },
  children: { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} },
  related: {},
  finalizing: false,
});

const changed = (change: (pod: Pod, deployment: Deployment) => void): Deployment => {
  const copy = structuredClone(rendered);
  change(copy.spec.template.spec, copy);
  return copy;
};
const foreignImage = (): Deployment => changed(({ containers: [only] }) => void (only['image'] = 'elsewhere.test/x:1'));

beforeAll(async () => {
  tools = createTools(loadSettings());
  rendered = renderDeployment();

  const policy = await renderAdmission(tools, {
    name: NAME,
    template: 'deployments',
    runtime: {
      namespace: NAMESPACE,
      image: { registry: 'registry.test', repository: 'runtime' },
      trustedCA: { existingConfigMap: 'company-ca' },
    },
  });
  const meta = { name: NAME, namespace: NAMESPACE };
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: meta };
  const objects = [
    namespaceObject(NAME),
    namespaceObject(NAMESPACE),
    { ...role, rules: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['create'] }] },
    {
      ...role,
      kind: 'RoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: NAME },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: CONTROLLER }],
    },
  ];
  const manifest = [...objects.map((object) => JSON.stringify(object)), policy].join('\n---\n');
  cleanUp = await applyManifest(tools, manifest);
  await policyInForce(() => refusal(foreignImage()), /^PolicyDenied: The image/);
});
afterAll(() => cleanUp?.());

describe('a Deployment that the controller writes in a runtime namespace', () => {
  it('is accepted as the webhook renders it', async () => {
    expect(await refusal(rendered)).toBeUndefined();
  });

  it('is accepted with a shared Secret', async () => {
    const shared = [{ secretRef: { name: 'uswarm-model-env' } }];
    expect(await refusal(changed(({ containers: [only] }) => void (only.envFrom = shared)))).toBeUndefined();
  });

  it.each<[string, (pod: Pod, deployment: Deployment) => void, RegExp]>([
    ['a foreign image', ({ containers: [only] }) => void (only['image'] = 'elsewhere.test/x:1'), /The image/],
    [
      'the Secret of another workspace',
      ({ containers: [only] }) => void (only.envFrom = [{ secretRef: { name: 'workspace-b-env' } }]),
      /The environment/,
    ],
    [
      'a variable of another Secret',
      ({ containers: [only] }) =>
        void only.env.push({ name: 'X', valueFrom: { secretKeyRef: { name: 'workspace-b-env', key: 'x' } } }),
      /The environment/,
    ],
    ['a token', (pod) => void (pod['automountServiceAccountToken'] = true), /ServiceAccount/],
    ['the account of another runtime', (pod) => void (pod['serviceAccountName'] = 'agent-runtime-b'), /ServiceAccount/],
    [
      'a Secret as a volume',
      ({ volumes }) => void volumes.push({ name: 's', secret: { secretName: 'x' } }),
      /^PolicyDenied: Volumes of a runtime/,
    ],
    [
      'a Secret in a projected volume',
      ({ volumes }) => void volumes.push({ name: 's', projected: { sources: [{ secret: { name: 'x' } }] } }),
      /^PolicyDenied: Volumes of a runtime/,
    ],
    [
      'another ConfigMap',
      ({ volumes }) => void volumes.push({ name: 'c', configMap: { name: 'x' } }),
      /^PolicyDenied: Volumes of a runtime/,
    ],
    [
      'the user root',
      ({ containers: [only] }) => void Object.assign(only.securityContext, { runAsUser: 0 }),
      /security context/,
    ],
    ['no security context', ({ containers: [only] }) => void (only.securityContext = {}), /security context/],
    ['the network of the node', (pod) => void (pod['hostNetwork'] = true), /security context/],
    ['another command', ({ containers: [only] }) => void (only['command'] = ['sh']), /single container/],
    [
      'another container',
      ({ containers }) => void (containers as object[]).push({ ...containers[0], name: 'other', ports: [] }),
      /single container/,
    ],
    ['a name that is not a runtime name', (_, { metadata }) => void (metadata.name = 'other'), /single container/],
  ])('is rejected with %s', async (_what, change, why) => {
    expect(await refusal(changed(change))).toMatch(why);
  });
});

it('accepts any Deployment that an administrator writes in a runtime namespace', async () => {
  expect(await refusal(foreignImage(), '')).toBeUndefined();
});
