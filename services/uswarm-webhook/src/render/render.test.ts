import { describe, expect, it } from '@jest/globals';
import type { UserSwarm } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { runtimePods } from '../config/runtime-pods.js';
import { settledRequest, syncRequest, testFacts, testSettings, userSwarm } from '../../test/webhook-input.js';
import { render } from './render.js';
import type { RenderSettings } from './settings.js';

interface Probe {
  periodSeconds: number;
  timeoutSeconds: number;
  failureThreshold: number;
  terminationGracePeriodSeconds?: number;
}

interface Container {
  image: string;
  env: { name: string; value?: string }[];
  envFrom?: unknown;
  ports: unknown;
  resources: unknown;
  startupProbe: Probe;
  readinessProbe: Probe;
  livenessProbe: Probe;
}

interface Template {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: Record<string, unknown> & { containers: [Container] };
}

async function rendered(parent: UserSwarm, settings: RenderSettings = testSettings()) {
  const { children, status } = render(syncRequest(parent), settings, await testFacts());
  const find = (kind: string): KubernetesObject =>
    (children as unknown as KubernetesObject[]).find((child) => child.kind === kind)!;
  const deployment = find('Deployment') as KubernetesObject & { spec: { replicas: number; template: Template } };
  return {
    children,
    status,
    service: find('Service'),
    deployment,
    pod: deployment?.spec.template.spec,
    container: deployment?.spec.template.spec.containers[0],
  };
}

const environment = ({ env }: { env: { name: string; value?: string }[] }): Record<string, string | undefined> =>
  Object.fromEntries(env.map(({ name, value }) => [name, value]));

describe('rendering of a UserSwarm', () => {
  it('HOOK-006: the response has exactly a ServiceAccount, a Service and a Deployment', async () => {
    const { children } = await rendered(userSwarm());
    expect(children.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'ServiceAccount agent-runtime-workspace-a',
      'Service agent-runtime-workspace-a',
      'Deployment agent-runtime-workspace-a',
    ]);
  });

  it('CRD-004: userId reaches the runtime unexpanded', async () => {
    const { container } = await rendered(userSwarm({ userId: 'user-$(USWARM_MCP_TOKEN)$$' }));
    // The kubelet unescapes $$ to $ and expands nothing.
    expect(environment(container)['USWARM_USER_ID']).toBe('user-$$(USWARM_MCP_TOKEN)$$$$');
  });

  it('CRD-005: children are in placement.runtimeNamespace, by default userswarms', async () => {
    const namespaces = async (spec: object): Promise<unknown[]> =>
      (await rendered(userSwarm({ ...spec }))).children.map(({ metadata }) => metadata.namespace);
    expect(await namespaces({})).toEqual(['userswarms', 'userswarms', 'userswarms']);
    const placement = { runtimeNamespace: 'userswarms-spare' };
    expect(await namespaces({ placement })).toEqual(Array(3).fill('userswarms-spare'));
  });

  it('CRD-006: the image is runtime.image, by default the configured image', async () => {
    const own = await rendered(userSwarm({ runtime: { image: 'registry.test/own:2' } }));
    expect({ containerImage: own.container.image, statusImage: own.status['image'] }).toEqual({
      containerImage: 'registry.test/own:2',
      statusImage: 'registry.test/own:2',
    });
    for (const runtime of [{}, { image: '' }]) {
      expect((await rendered(userSwarm({ runtime }))).container.image).toBe('registry.test/runtime:1');
    }
  });

  it('CRD-007: runtime.port is the gRPC port in all objects, by default 42618', async () => {
    for (const [runtime, port] of [
      [{}, 42_618],
      [{ port: 5000 }, 5000],
    ] as const) {
      const { container, service, status } = await rendered(userSwarm({ runtime }));
      expect(container.ports).toEqual([{ name: 'grpc', protocol: 'TCP', containerPort: port }]);
      expect(service).toMatchObject({ spec: { ports: [{ port, targetPort: port }] } });
      expect(container).toMatchObject({ startupProbe: { grpc: { port } }, readinessProbe: { grpc: { port } } });
      expect(environment(container)['USWARM_RUNTIME_PORT']).toBe(String(port));
      expect(status['address']).toBe(`http://agent-runtime-workspace-a.userswarms.svc:${port}`);
    }
  });

  it('a hung runtime is killed within 35 s, and one that is busy for 15 s or that is replaced is not', async () => {
    const settings = testSettings({ pods: runtimePods.parse({ terminationGracePeriodSeconds: 120 }) });
    const { container, pod } = await rendered(userSwarm(), settings);
    for (const name of ['startupProbe', 'livenessProbe'] as const) {
      expect(container[name]).toMatchObject({ terminationGracePeriodSeconds: 5 });
    }
    // The API server rejects the field in a readiness probe.
    expect(container.readinessProbe).not.toHaveProperty('terminationGracePeriodSeconds');
    expect(pod).toMatchObject({ terminationGracePeriodSeconds: 120 });
    const { failureThreshold, periodSeconds, timeoutSeconds } = container.livenessProbe;
    expect(failureThreshold * periodSeconds + timeoutSeconds + 5).toBeLessThanOrEqual(35);
    expect((failureThreshold - 1) * periodSeconds).toBeGreaterThanOrEqual(15);
    const brief = testSettings({ pods: runtimePods.parse({ terminationGracePeriodSeconds: 2 }) });
    const { livenessProbe } = (await rendered(userSwarm(), brief)).container;
    expect(livenessProbe.terminationGracePeriodSeconds).toBe(2);
  });

  it('CRD-008: runtime.resources are rendered as canonical requests and limits', async () => {
    const resources = { requests: { cpu: '0.5', memory: '128Mi' }, limits: { cpu: '1000m', memory: '1024Mi' } };
    const { container } = await rendered(userSwarm({ runtime: { resources } }));
    expect(container.resources).toEqual({
      requests: { cpu: '500m', memory: '128Mi' },
      limits: { cpu: '1', memory: '1Gi' },
    });
  });

  it('CRD-009: config.defaultProvider reaches the runtime and is absent by default', async () => {
    const { container } = await rendered(userSwarm({ config: { defaultProvider: 'openai' } }));
    expect(environment(container)['USWARM_DEFAULT_PROVIDER']).toBe('openai');
    expect(environment((await rendered(userSwarm())).container)).not.toHaveProperty('USWARM_DEFAULT_PROVIDER');
  });

  describe('an unknown config.defaultProvider', () => {
    const unknown = { config: { defaultProvider: 'unknown' } };
    const readyOf = async (spec: object, settings = testSettings()): Promise<object> => {
      const { status } = render(syncRequest(userSwarm({ ...spec })), settings, await testFacts());
      const { phase, conditions } = status as { phase: string; conditions: { reason: string; message: string }[] };
      return { phase, reason: conditions[0]!.reason, message: conditions[0]!.message };
    };

    it('an unknown provider is InvalidSpec, and the message lists the known providers', async () => {
      expect(await readyOf(unknown)).toEqual({
        phase: 'Error',
        reason: 'InvalidSpec',
        message: 'spec.config.defaultProvider: unknown is not a provider of the runtime, which has demo, openai',
      });
    });

    it('a provider is accepted if the operator configures it for a custom image', async () => {
      const settings = testSettings({ providers: new Set(['unknown']) });
      expect(await readyOf(unknown, settings)).toMatchObject({ phase: 'Progressing' });
    });

    it('any provider is accepted if the UserSwarm names another image', async () => {
      const runtime = { image: 'registry.test/own:2' };
      expect(await readyOf({ ...unknown, runtime })).toMatchObject({ phase: 'Progressing' });
    });
  });

  it('CRD-010: config.defaultModel reaches the runtime and is absent by default', async () => {
    const { container } = await rendered(userSwarm({ config: { defaultModel: 'some/model-1' } }));
    expect(environment(container)['USWARM_DEFAULT_MODEL']).toBe('some/model-1');
    expect(environment((await rendered(userSwarm())).container)).not.toHaveProperty('USWARM_DEFAULT_MODEL');
  });

  it('CRD-011: config.envSecretRef is the source of the sensitive environment', async () => {
    for (const name of ['workspace-a-env', 'uswarm-model-env']) {
      const { container } = await rendered(userSwarm({ config: { envSecretRef: { name } } }));
      expect(container.envFrom).toEqual([{ secretRef: { name } }]);
    }
    expect((await rendered(userSwarm())).container.envFrom).toBeUndefined();
  });

  describe('with a model gateway', () => {
    const gateway = { url: 'http://gateway.test:8080', provider: 'openai' };
    const settings = testSettings({ modelGateway: gateway });
    const access = async (config: object) => {
      const { container, deployment } = await rendered(userSwarm({ config }), settings);
      const { MODEL_GATEWAY_URL: url, USWARM_DEFAULT_PROVIDER: provider } = environment(container);
      return { url, provider, label: deployment.spec.template.metadata.labels['uswarm.dev/model-access'] };
    };

    it('a runtime receives its address, the default provider and a label for network policies', async () => {
      expect(await access({})).toEqual({ url: gateway.url, provider: 'openai', label: 'gateway' });
      expect(await access({ defaultProvider: 'demo' })).toMatchObject({ url: gateway.url, provider: 'demo' });
    });

    it('a runtime with a Secret uses the keys in it', async () => {
      const none = { url: undefined, provider: undefined, label: undefined };
      expect(await access({ envSecretRef: { name: 'workspace-a-env' } })).toEqual(none);
      expect(await access({ envSecretRef: { name: 'uswarm-model-env' }, defaultProvider: 'openai' })).toEqual({
        ...none,
        provider: 'openai',
      });
    });

    it('the pod template does not change for a runtime with a Secret', async () => {
      const parent = userSwarm({ config: { envSecretRef: { name: 'workspace-a-env' } } });
      const template = async (from: RenderSettings) => (await rendered(parent, from)).deployment.spec.template;
      expect(await template(settings)).toEqual(await template(testSettings()));
    });
  });

  it('store variables with secrets come from a Secret, the others are literal values', async () => {
    const stores = [{ name: 'SVC_DATABASE_HOST', value: 'db.test' }, { name: 'SVC_DATABASE_PASSWORD' }];
    const { container } = await rendered(userSwarm(), testSettings({ stores }));
    expect(container.env).toContainEqual({ name: 'SVC_DATABASE_HOST', value: 'db.test' });
    expect(container.env).toContainEqual({
      name: 'SVC_DATABASE_PASSWORD',
      valueFrom: { secretKeyRef: { name: 'uswarm-runtime-stores', key: 'SVC_DATABASE_PASSWORD' } },
    });
  });

  it('the settings of runtime pods are rendered, and empty ones are omitted', async () => {
    const pods = runtimePods.parse({
      imagePullSecrets: [{ name: 'pull' }],
      imagePullPolicy: 'Always',
      nodeSelector: { pool: 'runtimes' },
      affinity: {},
      tolerations: [{ key: 'runtimes', operator: 'Exists' }],
      priorityClassName: 'low',
      runtimeClassName: '',
      labels: { team: 'agents' },
      annotations: { note: 'x' },
      extraEnv: [
        { name: 'EMPTY', value: '' },
        { name: 'TZ', value: 'UTC' },
      ],
    });
    const { deployment, container } = await rendered(userSwarm(), testSettings({ pods }));
    const { metadata, spec } = deployment.spec.template;
    expect(spec).toMatchObject({
      imagePullSecrets: [{ name: 'pull' }],
      nodeSelector: { pool: 'runtimes' },
      tolerations: [{ key: 'runtimes', operator: 'Exists' }],
      priorityClassName: 'low',
    });
    for (const field of ['affinity', 'topologySpreadConstraints', 'runtimeClassName'])
      expect(spec).not.toHaveProperty(field);
    expect(metadata.annotations).toEqual({ note: 'x' });
    expect(metadata.labels).toMatchObject({ team: 'agents', 'app.kubernetes.io/instance': 'workspace-a' });
    expect(container).toMatchObject({ imagePullPolicy: 'Always' });
    expect(container.env.slice(-2)).toEqual([{ name: 'EMPTY' }, { name: 'TZ', value: 'UTC' }]);
  });

  it.each([[{ hostUsers: false }], [{}]])(
    'the pod of a runtime with %j is in a user namespace only then',
    async (settings) => {
      const pods = runtimePods.parse({ ...settings, runtimeClassName: 'kata' });
      const { deployment } = await rendered(userSwarm(), testSettings({ pods }));
      const { hostUsers, runtimeClassName } = deployment.spec.template.spec as Record<string, unknown>;
      expect({ hostUsers, runtimeClassName }).toEqual({ ...settings, runtimeClassName: 'kata' });
    },
  );

  it('a suspended UserSwarm has zero replicas', async () => {
    const { deployment, status } = await rendered(userSwarm({ suspend: true }));
    expect(deployment.spec.replicas).toBe(0);
    expect(status['phase']).toBe('Suspended');
  });
});

describe('invalid and denied specs', () => {
  const readyOf = async (parent: UserSwarm, settings = testSettings()) => {
    const { children, status } = render(syncRequest(parent), settings, await testFacts());
    const ready = (status['conditions'] as { type: string; reason: string; message: string }[])[0]!;
    return { children, phase: status['phase'], reason: ready.reason, message: ready.message };
  };

  it.each([
    ['a namespace that is not a runtime namespace', { placement: { runtimeNamespace: 'kube-system' } }, 'kube-system'],
    ['an image without an allowed prefix', { runtime: { image: 'elsewhere.test/x:1' } }, 'elsewhere.test/x:1'],
    ["another workspace's Secret", { config: { envSecretRef: { name: 'workspace-b-env' } } }, 'workspace-b-env'],
    ['any other Secret', { config: { envSecretRef: { name: 'uswarm-runtime-stores' } } }, 'uswarm-runtime-stores'],
  ])('%s is PolicyDenied', async (_what, spec, named) => {
    const response = await readyOf(userSwarm(spec));
    expect(response).toMatchObject({ children: [], phase: 'Error', reason: 'PolicyDenied' });
    expect(response.message).toContain(named);
  });

  it('an image prefix matches only complete path segments', async () => {
    const policy = { ...testSettings().policy, imagePrefixes: ['registry.test/team'] };
    const phaseOf = async (image: string): Promise<unknown> =>
      (await readyOf(userSwarm({ runtime: { image } }), testSettings({ policy }))).phase;
    expect(await phaseOf('registry.test/team/app:1')).toBe('Progressing');
    expect(await phaseOf('registry.test/team:1')).toBe('Progressing');
    expect(await phaseOf('registry.test/team-of-others/app:1')).toBe('Error');
  });

  it('only the configured image is allowed if there are no image prefixes', async () => {
    const settings = testSettings({ policy: { ...testSettings().policy, imagePrefixes: [] } });
    expect((await readyOf(userSwarm({ runtime: { image: 'registry.test/runtime:1' } }), settings)).phase).toBe(
      'Progressing',
    );
    expect((await readyOf(userSwarm({ runtime: { image: 'registry.test/runtime:2' } }), settings)).phase).toBe('Error');
  });

  it.each([
    ['an invalid quantity', { resources: { limits: { cpu: 'many' } } }, 'limits.cpu'],
    [
      'a request above its limit',
      { resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } } },
      'requests.memory',
    ],
  ])('%s is InvalidSpec', async (_what, runtime, named) => {
    const response = await readyOf(userSwarm({ runtime }));
    expect(response).toMatchObject({ children: [], phase: 'Error', reason: 'InvalidSpec' });
    expect(response.message).toContain(named);
  });

  it('a spec that violates the CRD schema is InvalidSpec, and the message names the field', async () => {
    const parent = userSwarm();
    const response = await readyOf({ ...parent, spec: { ...parent.spec, userId: '' } });
    expect(response).toMatchObject({ phase: 'Error', reason: 'InvalidSpec' });
    expect(response.message).toContain('spec.userId');
  });

  it('a denied spec preserves all fields of the children, and suspend still stops the pod', async () => {
    const settled = await settledRequest(userSwarm({ config: { envSecretRef: { name: 'uswarm-model-env' } } }));
    const before = render(settled, testSettings(), await testFacts());
    const policy = { ...testSettings().policy, sharedEnvSecrets: new Set<string>() };
    const denied = render(settled, testSettings({ policy }), await testFacts());
    expect(denied.status['phase']).toBe('Error');
    expect(denied.children).toMatchObject(before.children);
    const suspended = { ...settled, parent: { ...settled.parent, spec: { ...settled.parent.spec, suspend: true } } };
    const stopped = render(suspended, testSettings({ policy }), await testFacts());
    expect(stopped.children.map((child) => (child['spec'] as { replicas?: number } | undefined)?.replicas)).toEqual([
      undefined,
      undefined,
      0,
    ]);
  });

  it('a denied spec preserves only owned children', async () => {
    const settled = await settledRequest(userSwarm());
    const recreated = { ...settled.parent, metadata: { ...settled.parent.metadata, uid: 'another' } };
    const policy = { ...testSettings().policy, runtimeNamespaces: new Set(['elsewhere']) };
    expect(render({ ...settled, parent: recreated }, testSettings({ policy }), await testFacts()).children).toEqual([]);
  });
});
