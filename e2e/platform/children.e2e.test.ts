import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { workspaceIdOf } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import {
  type Children,
  DELETED_WITHIN_MS,
  EXTRA_RUNTIME_NAMESPACES,
  imageOf,
  type Kinds,
  NAMESPACE,
  openSession,
  type Session,
} from '../support/index.js';

const OTHER = 'e2e-other';

let session: Session;
let name: string;
let children: Required<Children>;
const userId = randomUUID();

const childrenOf = async (swarm: string, namespace?: string): Promise<Required<Children>> => {
  const found = await session.children(swarm, namespace);
  expect(found).toEqual({
    serviceAccount: expect.anything(),
    service: expect.anything(),
    deployment: expect.anything(),
    pods: expect.anything(),
  });
  return found as Required<Children>;
};

beforeAll(async () => {
  session = await openSession();
  name = session.newName();
  await plantCanary(`${name}-env`);
  // Shared workspace Secrets, in addition to the generated ones.
  const shared = { name: 'uswarm-model-env', namespace: NAMESPACE.runtime };
  await session.api.merge('Secret', shared, { stringData: { E2E_CANARY: `canary-${randomUUID()}` } });
  await session.create(
    {
      userId,
      runtime: { resources: { requests: { cpu: '0.05', memory: '100Mi' }, limits: { memory: '0.5Gi' } } },
      config: { defaultProvider: 'demo', defaultModel: 'flash', envSecretRef: { name: `${name}-env` } },
    },
    name,
  );
  await session.ready(name);
  children = await childrenOf(name);
});
afterAll(() => session?.close());

/** A Secret in the runtime namespace whose value must not appear in other objects. */
async function plantCanary(secret: string): Promise<void> {
  const place = { name: secret, namespace: NAMESPACE.runtime };
  await session.api.create('Secret', { metadata: place, stringData: { E2E_CANARY: `canary-${randomUUID()}` } });
  session.onClose(() => session.api.delete('Secret', place));
}

const labels = () => ({
  'app.kubernetes.io/name': 'agent-runtime',
  'app.kubernetes.io/instance': name,
  'app.kubernetes.io/component': 'agent-runtime',
  'app.kubernetes.io/part-of': 'uswarm',
  'app.kubernetes.io/managed-by': 'uswarm-controller',
});
const selector = () => ({ 'app.kubernetes.io/name': 'agent-runtime', 'app.kubernetes.io/instance': name });

describe('the children of a UserSwarm', () => {
  it('CRD-013 CRD-014 CRD-015 CRD-016: have the documented names, labels and owner', () => {
    const { metadata } = session.swarms.current(name)!;
    expect(metadata.name).toMatch(/^workspace-/);
    for (const child of [children.serviceAccount!, children.service!, children.deployment!]) {
      expect(child.metadata).toMatchObject({ name: `agent-runtime-${name}`, namespace: NAMESPACE.runtime });
      expect(child.metadata?.labels).toEqual({ ...labels(), 'controller-uid': metadata.uid });
      expect(child.metadata?.ownerReferences).toEqual([
        {
          apiVersion: 'uswarm.dev/v1alpha1',
          kind: 'UserSwarm',
          name,
          uid: metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ]);
    }
  });

  it('CRD-014: the pod uses the ServiceAccount and mounts no token', () => {
    expect(children.serviceAccount!.automountServiceAccountToken).toBe(false);
    expect(children.pods.map(({ spec }) => spec?.serviceAccountName)).toEqual([`agent-runtime-${name}`]);
  });

  it('CRD-015: the Service targets the gRPC port and is internal', () => {
    expect(children.service!.spec).toMatchObject({ type: 'ClusterIP', selector: selector() });
    expect(children.service!.spec?.ports).toEqual([
      expect.objectContaining({ name: 'grpc', port: 42_618, protocol: 'TCP' }),
    ]);
    expect(session.swarms.current(name)?.status?.address).toBe(
      `http://agent-runtime-${name}.${NAMESPACE.runtime}.svc:42618`,
    );
  });

  it('CRD-016: the Deployment keeps one pod and deletes it before it creates another', () => {
    expect(children.deployment!.spec).toMatchObject({
      replicas: 1,
      strategy: { type: 'Recreate' },
      progressDeadlineSeconds: 300,
      selector: { matchLabels: selector() },
    });
    const pod = children.deployment!.spec!.template;
    expect(pod.metadata?.labels).toEqual(labels());
    expect(pod.spec?.terminationGracePeriodSeconds).toBe(120);
    expect(pod.spec?.containers[0]?.resources).toEqual({
      requests: { cpu: '50m', memory: '100Mi', 'ephemeral-storage': '64Mi' },
      limits: { cpu: '1', memory: '512Mi', 'ephemeral-storage': '1Gi' },
    });
    expect(pod.spec?.containers[0]?.image).toBe(imageOf(session.settings.images, 'agent-runtime'));
  });

  it('CRD-016: the pod has startup, readiness and liveness probes over gRPC', () => {
    const { livenessProbe, readinessProbe, startupProbe } = children.deployment!.spec!.template.spec!.containers[0]!;
    for (const probe of [livenessProbe, readinessProbe, startupProbe]) expect(probe?.grpc?.port).toBe(42_618);
  });

  it('CRD-017: store nothing: there is no PersistentVolumeClaim', async () => {
    for (const namespace of [NAMESPACE.runtime, ...EXTRA_RUNTIME_NAMESPACES]) {
      expect(await session.api.list('PersistentVolumeClaim', { namespace })).toEqual([]);
    }
    const volumes = children.pods.flatMap(({ spec }) => spec?.volumes ?? []);
    expect(volumes.filter(({ emptyDir }) => emptyDir === undefined)).toEqual([]);
  });

  it('CRD-003: are created in the namespace that the UserSwarm names', async () => {
    const elsewhere = await session.create({ placement: { runtimeNamespace: OTHER } });
    await session.ready(elsewhere);
    const there = await childrenOf(elsewhere, OTHER);
    expect(there.deployment!.metadata?.namespace).toBe(OTHER);
    const { deployment, pods, service, serviceAccount } = await session.children(elsewhere);
    expect([deployment, service, serviceAccount, ...pods].filter(Boolean)).toEqual([]);
  });
});

describe('the environment of a runtime', () => {
  it('is the documented one and contains no secrets', () => {
    const { env = [], envFrom } = children.deployment!.spec!.template.spec!.containers[0]!;
    expect(envFrom).toEqual([{ secretRef: { name: `${name}-env` } }]);
    const values = Object.fromEntries(env.map(({ name: key, value }) => [key, value]));
    expect(values).toEqual({
      USWARM_WORKSPACE_ID: workspaceIdOf(name),
      USWARM_USER_ID: userId,
      USWARM_RUNTIME_PORT: '42618',
      USWARM_CALL_PUBLIC_KEY: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----/),
      USWARM_DEFAULT_PROVIDER: 'demo',
      USWARM_DEFAULT_MODEL: 'flash',
      SVC_MCP_ENDPOINT: 'http://uswarm-searxng-client.backend.svc.cluster.local:8080/mcp',
      SVC_ORCHESTRATOR_ENDPOINT: 'http://uswarm-orchestrator.backend.svc.cluster.local:8080',
      USWARM_TERMINATION_GRACE_S: '120',
    });
  });

  it('has no token in a Deployment, ReplicaSet, pod or annotation that the role view can read', async () => {
    const kinds = ['Deployment', 'ReplicaSet', 'Pod', 'UserSwarm'] as const;
    const objects = (await Promise.all(kinds.map((kind) => session.api.list(kind)))).flat();
    expect(objects.some(({ metadata }) => metadata?.namespace === NAMESPACE.runtime)).toBe(true);
    // Any JWT.
    const withToken = objects.filter((object) => /eyJ[\w-]+\.eyJ[\w-]+\./.test(JSON.stringify(object)));
    expect(withToken.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`)).toEqual([]);
  });

  it('has no value of an installed Secret in a child, pod or UserSwarm', async () => {
    const secrets = [NAMESPACE.release, NAMESPACE.runtime, ...EXTRA_RUNTIME_NAMESPACES].map((namespace) =>
      session.api.list('Secret', { namespace }),
    );
    const values = (await Promise.all(secrets)).flat().flatMap(secretValues);
    expect(values.some(({ text }) => text.startsWith('canary-'))).toBe(true);
    expect(values.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['mcp-signing-key', 'database-url', 'sync-token']),
    );
    const lists = await Promise.all(
      (['UserSwarm', 'Pod', 'Deployment', 'ReplicaSet', 'Service', 'ServiceAccount', 'ConfigMap'] as const).map(
        async (kind) =>
          (await session.api.list(kind)).filter(
            ({ metadata }) => kind === 'UserSwarm' || metadata?.namespace !== NAMESPACE.release,
          ),
      ),
    );
    const everything = lists.flat().map((object) => JSON.stringify(object));
    expect(everything.length).toBeGreaterThan(5);
    const seen = values.filter(({ text }) => everything.some((object) => object.includes(jsonText(text))));
    expect(seen.map(({ secret, key }) => `${secret}/${key}`)).toEqual([]);
  });
});

const jsonText = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Each value, its parts, and its stored encoding. */
function secretValues({ data = {}, metadata }: Kinds['Secret']): { secret: string; key: string; text: string }[] {
  return Object.entries(data).flatMap(([key, stored]) => {
    const text = Buffer.from(stored, 'base64').toString();
    const parts = text.split(/[\n:@]/).filter((part) => part.length >= 20 && !part.startsWith('-----'));
    return [stored, text.trim(), ...parts]
      .filter((value) => value.length >= 16)
      .map((value) => ({ secret: metadata!.name!, key, text: value }));
  });
}

describe('a changed UserSwarm', () => {
  it('CRD-014 CRD-015 CRD-016: changes its children in place', async () => {
    const changed = await session.create();
    await session.ready(changed);
    const before = await childrenOf(changed);
    await session.patch(changed, { runtime: { port: 43_000, resources: { requests: { memory: '128Mi' } } } });
    await session.ready(changed);
    const after = await childrenOf(changed);

    const uids = ({ deployment, service, serviceAccount }: Required<Children>) =>
      [deployment, service, serviceAccount].map((child) => child?.metadata?.uid);
    expect(uids(after)).toEqual(uids(before));
    expect(after.service!.spec?.clusterIP).toBe(before.service!.spec?.clusterIP);
    expect(after.service!.spec?.ports?.map(({ port }) => port)).toEqual([43_000]);
    const container = after.deployment!.spec!.template.spec!.containers[0]!;
    expect(container.ports?.map(({ containerPort }) => containerPort)).toEqual([43_000]);
    expect(container.resources?.requests?.['memory']).toBe('128Mi');
    expect(session.swarms.current(changed)?.status?.address).toContain(':43000');
    const pods = await eventually(
      async () => {
        const present = (await session.children(changed)).pods;
        return present.length === 1 ? present : undefined;
      },
      { description: 'the old pod is deleted', timeoutMs: DELETED_WITHIN_MS },
    );
    expect(pods[0]?.metadata?.uid).not.toBe(before.pods[0]?.metadata?.uid);
  });
});
