import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { userSwarmName } from '@uswarm/contract/userswarm';
import { createCredentials, createKubeClient, createWatch, type Credentials } from '@uswarm/kube-client';
import {
  createKubernetesDriver,
  FIELD_MANAGER,
  type KubernetesDriver,
  PlatformUnreachable,
  type RuntimeObservation,
  type RuntimeSpec,
  type StoredUserSwarm,
  type UserSwarmSettings,
} from '@uswarm/orchestrator/kubernetes-driver';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { countingClient } from './counted-client.js';
import { createThrowawayCluster, type ThrowawayCluster } from './throwaway-cluster.js';

const SETTINGS: UserSwarmSettings = {
  namespace: 'runtimes',
  envSecret: 'model-env',
  defaultProvider: 'demo',
  defaultModel: 'sonnet',
};
const MANAGED_BY = 'app.kubernetes.io/managed-by';
const FINALIZER = 'e2e.uswarm.dev/held';
const condition = (status: string, reason: string) => [
  { type: 'Ready', status, reason, message: '', lastTransitionTime: '2026-11-21T10:00:00Z' },
];

describe('the kubernetes driver', () => {
  let cluster: ThrowawayCluster;
  let driver: KubernetesDriver;
  let calls: ReturnType<typeof countingClient>['calls'];
  let spec: RuntimeSpec;
  let name: string;
  let notifications: string[];
  let others: KubernetesDriver[] = [];
  let connections: Credentials[] = [];
  beforeAll(async () => {
    cluster = await createThrowawayCluster();
  });
  beforeEach(async () => {
    spec = { workspaceId: randomUUID(), userId: randomUUID(), suspended: false };
    name = userSwarmName(spec.workspaceId);
    notifications = [];
    driver = await start(cluster.orchestratorConfig());
  });
  afterEach(async () => {
    await Promise.all([driver, ...others].map((each) => each.close()));
    await Promise.all(connections.map((each) => each.close()));
    [others, connections] = [[], []];
  });
  afterAll(() => cluster.remove());

  async function start(
    config: ReturnType<ThrowawayCluster['orchestratorConfig']>,
    settings: Partial<UserSwarmSettings> = {},
    received: string[] = notifications,
  ): Promise<KubernetesDriver> {
    const credentials = await createCredentials(config);
    connections.push(credentials);
    const counting = countingClient(createKubeClient({ credentials, fieldManager: FIELD_MANAGER, timeoutMs: 10_000 }));
    calls = counting.calls;
    const made = createKubernetesDriver({
      client: counting.client,
      watch: createWatch(credentials),
      type: cluster.type,
      settings: { ...SETTINGS, ...settings },
      reportsStarting: false,
      logger: silentLogger,
    });
    // Other tests use the same cluster.
    made.onChange((workspaceId) => {
      if (workspaceId === spec.workspaceId) received.push(workspaceId);
    });
    return made;
  }
  const ensure = (more: Partial<RuntimeSpec> = {}) => driver.ensure({ ...spec, ...more }, { unresponsive: false });
  const stored = async (): Promise<StoredUserSwarm> => {
    const swarm = await cluster.get(name);
    if (swarm === undefined) throw new Error(`${name} not found`);
    return swarm;
  };
  /** Waits for a notification, then reconciles, like the runtime reconciler. */
  async function ensureAfterNotification(more: Partial<RuntimeSpec> = {}): Promise<RuntimeObservation> {
    await eventually(() => notifications.length, { until: (count) => count > 0 });
    notifications.length = 0;
    return ensure(more);
  }
  async function setStatus(status: object): Promise<void> {
    const { metadata } = await stored();
    await cluster.setStatus(name, { observedGeneration: metadata.generation, ...status });
  }
  /** Waits until the driver knows what it has applied, and forgets the notifications about it. */
  async function applied(more: Partial<RuntimeSpec> = {}): Promise<void> {
    await settled(() => ensure(more));
    notifications.length = 0;
  }
  /** Repeats the action until it makes no request. */
  async function settled(action: () => Promise<unknown> = ensure): Promise<void> {
    const needed = async (): Promise<number> => {
      const before = calls.get + calls.apply + calls.delete;
      await action();
      return calls.get + calls.apply + calls.delete - before;
    };
    expect(await eventually(needed, { until: (count) => count === 0 })).toBe(0);
  }

  it('creates a managed UserSwarm with the settings and without an image', async () => {
    expect(await ensure()).toEqual({ phase: 'Pending', reason: '', address: null, current: false });
    const { metadata, spec: written } = await stored();
    expect(metadata.labels).toEqual({ [MANAGED_BY]: 'uswarm-orchestrator' });
    expect(written).toEqual({
      userId: spec.userId,
      placement: { runtimeNamespace: 'runtimes' },
      runtime: { port: 42_618 },
      config: { defaultProvider: 'demo', defaultModel: 'sonnet', envSecretRef: { name: 'model-env' } },
      suspend: false,
    });
    expect(metadata.managedFields).toEqual([
      expect.objectContaining({ manager: 'uswarm-orchestrator', operation: 'Apply' }),
    ]);
  });

  it('requires neither a Secret nor defaults', async () => {
    const plain = await start(cluster.orchestratorConfig(), {
      envSecret: undefined,
      defaultProvider: undefined,
      defaultModel: undefined,
    });
    others.push(plain);
    await plain.ensure(spec, { unresponsive: false });
    expect((await stored()).spec.config).toEqual({});
  });

  it('sends no request when there is nothing to do', async () => {
    await ensure();
    await settled();
    const before = { calls: { ...calls }, version: (await stored()).metadata.resourceVersion };
    for (let round = 0; round < 5; round += 1) await ensure();
    expect({ calls: { ...calls }, version: (await stored()).metadata.resourceVersion }).toEqual(before);
  });

  it('does not rewrite the object of another orchestrator replica', async () => {
    await ensure();
    const version = (await stored()).metadata.resourceVersion;
    const another = await start(cluster.orchestratorConfig());
    others.push(another);
    await another.ensure(spec, { unresponsive: false });
    expect((await stored()).metadata.resourceVersion).toBe(version);
  });

  it('applies new settings exactly once', async () => {
    await ensure();
    const another = await start(cluster.orchestratorConfig(), { defaultModel: 'opus', defaultProvider: undefined });
    others.push(another);
    for (let round = 0; round < 3; round += 1) await another.ensure(spec, { unresponsive: false });
    expect((await stored()).spec.config).toEqual({ defaultModel: 'opus', envSecretRef: { name: 'model-env' } });
    expect(calls.apply).toBe(1);
  });

  it('notifies about each status change and returns the new status', async () => {
    await applied();
    await setStatus({ phase: 'Progressing', conditions: condition('False', 'ImagePullBackOff') });
    expect(await ensureAfterNotification()).toMatchObject({
      phase: 'Progressing',
      reason: 'ImagePullBackOff',
      address: null,
    });
    await setStatus({ phase: 'Error', conditions: condition('False', 'PolicyDenied') });
    expect(await ensureAfterNotification()).toMatchObject({ phase: 'Error', reason: 'PolicyDenied', address: null });
    await setStatus({ phase: 'Ready', conditions: condition('True', 'Available') });
    const address = `http://agent-runtime-${name}.runtimes.svc:42618`;
    expect(await ensureAfterNotification()).toEqual({ phase: 'Ready', reason: '', address, current: true });
    await setStatus({ address: 'http://elsewhere:1' });
    expect(await ensureAfterNotification()).toMatchObject({ phase: 'Ready', address: 'http://elsewhere:1' });
  });

  it('suspends and resumes, and detects an outdated status', async () => {
    await ensure();
    await setStatus({ phase: 'Ready', conditions: condition('True', 'Available') });
    expect(await ensure({ suspended: true })).toMatchObject({ phase: 'Suspended', address: null });
    expect((await stored()).spec.suspend).toBe(true);
    await setStatus({ phase: 'Suspended', conditions: condition('False', 'Suspended') });
    expect(await ensure()).toMatchObject({ phase: 'Progressing', current: false });
    expect((await stored()).spec.suspend).toBe(false);
    await applied();
    await setStatus({ phase: 'Ready', conditions: condition('True', 'Available') });
    expect(await ensureAfterNotification()).toMatchObject({ phase: 'Ready', current: true });
  });

  it.each([
    ['kubectl patch', () => cluster.merge(name, { spec: { suspend: true } })],
    [
      'kubectl apply --server-side',
      () =>
        cluster.apply(
          name,
          {
            apiVersion: `${cluster.type.group}/v1alpha1`,
            kind: 'UserSwarm',
            metadata: { name },
            spec: { suspend: true },
          },
          'operator',
        ),
    ],
  ])(
    'keeps a runtime suspended that an operator suspended by %s until the operator releases it',
    async (_how, suspend) => {
      await ensure();
      await setStatus({ phase: 'Ready' });
      await eventually(ensure, { until: ({ phase }) => phase === 'Ready' });
      await applied();
      await suspend();
      expect(await ensureAfterNotification()).toMatchObject({ phase: 'Suspended' });
      await settled();
      for (let round = 0; round < 3; round += 1) expect(await ensure()).toMatchObject({ phase: 'Suspended' });
      expect((await stored()).spec.suspend).toBe(true);
      await cluster.merge(name, { spec: { suspend: false } });
      expect(await ensureAfterNotification()).toMatchObject({ phase: 'Ready' });
      expect((await stored()).spec.suspend).toBe(false);
    },
  );

  it('forces only spec.suspend when another manager resumes a suspended runtime', async () => {
    await applied({ suspended: true });
    await cluster.merge(name, { spec: { suspend: false, config: { defaultModel: 'theirs' } } });
    expect(await ensureAfterNotification({ suspended: true })).toMatchObject({ phase: 'Suspended' });
    expect((await stored()).spec).toMatchObject({ suspend: true, config: { defaultModel: 'theirs' } });
    expect(await ensure()).toMatchObject({ phase: 'Pending' });
    expect((await stored()).spec.suspend).toBe(false);
  });

  it('keeps a setting that an operator changed', async () => {
    await ensure();
    await cluster.merge(name, { spec: { config: { defaultModel: 'theirs' } } });
    await settled();
    await ensure({ suspended: true });
    expect((await stored()).spec.config).toMatchObject({ defaultModel: 'theirs', defaultProvider: 'demo' });
  });

  it('neither changes nor deletes an unmanaged UserSwarm', async () => {
    const foreign = await cluster.create({
      apiVersion: `${cluster.type.group}/v1alpha1`,
      kind: 'UserSwarm',
      metadata: { name },
      spec: { userId: spec.userId },
    });
    expect(await ensure()).toMatchObject({ phase: 'Progressing', reason: 'NameConflict', address: null });
    expect(await ensure({ suspended: true })).toMatchObject({ reason: 'NameConflict' });
    expect(await driver.remove(spec.workspaceId)).toBe(true);
    expect((await stored()).metadata).toEqual(foreign.metadata);
    expect(calls).toMatchObject({ apply: 0, delete: 0 });
  });

  it('does not change a UserSwarm that is no longer managed', async () => {
    await applied();
    await cluster.merge(name, { metadata: { labels: { [MANAGED_BY]: 'other' } } });
    expect(await ensureAfterNotification()).toMatchObject({ reason: 'NameConflict' });
    expect((await stored()).metadata.labels).toEqual({ [MANAGED_BY]: 'other' });
  });

  it('creates a deleted UserSwarm again after the deletion has completed', async () => {
    await applied();
    const { uid } = (await cluster.merge(name, { metadata: { finalizers: [FINALIZER] } })).metadata;
    await cluster.delete(name);
    // The first notification can be about the finalizer.
    const deleting = await eventually(() => ensureAfterNotification(), { until: ({ phase }) => phase === 'Deleting' });
    expect(deleting).toMatchObject({ phase: 'Deleting', address: null });
    expect((await stored()).metadata.uid).toBe(uid);
    await cluster.merge(name, { metadata: { finalizers: [] } });
    expect(await ensureAfterNotification()).toMatchObject({ phase: 'Pending' });
    expect((await stored()).metadata.uid).not.toBe(uid);
  });

  it('reports a removal only after the UserSwarm no longer exists', async () => {
    await ensure();
    await cluster.merge(name, { metadata: { finalizers: [FINALIZER] } });
    await settled(async () => expect(await driver.remove(spec.workspaceId)).toBe(false));
    expect((await stored()).metadata.deletionTimestamp).toBeDefined();
    notifications.length = 0;
    await cluster.merge(name, { metadata: { finalizers: [] } });
    await eventually(() => notifications.length, { until: (count) => count > 0 });
    expect(await driver.remove(spec.workspaceId)).toBe(true);
    expect(await cluster.get(name)).toBeUndefined();
  });

  it('removes a missing UserSwarm immediately, and a suspended one like any other', async () => {
    expect(await driver.remove(spec.workspaceId)).toBe(true);
    await ensure({ suspended: true });
    expect(await eventually(() => driver.remove(spec.workspaceId), { until: (gone) => gone })).toBe(true);
  });

  it('reports the reason when the API server rejects a UserSwarm', async () => {
    expect(await ensure({ userId: '' })).toMatchObject({ phase: 'Progressing', reason: 'Invalid' });
    expect(await cluster.get(name)).toBeUndefined();
  });

  describe('with a failing network', () => {
    let proxy: FaultInjectionProxy;
    let cut: KubernetesDriver;
    let received: string[];
    beforeEach(async () => {
      proxy = await startFaultInjectionProxy(cluster.server);
      received = [];
      cut = await start(cluster.orchestratorConfig(proxy.redirect(cluster.server)), {}, received);
      others.push(cut);
    });
    afterEach(() => proxy.close());
    const ensureThroughProxy = () => cut.ensure(spec, { unresponsive: false });

    it('recovers after a disconnect from the API server and handles missed changes', async () => {
      await ensureThroughProxy();
      await proxy.disconnect();
      received.length = 0;
      // The driver keeps reporting the last known state; an unknown UserSwarm has none.
      expect(await ensureThroughProxy()).toMatchObject({ phase: 'Pending' });
      await expect(cut.ensure({ ...spec, workspaceId: randomUUID() }, { unresponsive: false })).rejects.toThrow(
        PlatformUnreachable,
      );
      await expect(cut.remove(spec.workspaceId)).rejects.toThrow(PlatformUnreachable);
      await ensureThroughProxy();
      await setStatus({ phase: 'Ready' });
      await proxy.restore();
      await eventually(() => received.length, { until: (count) => count > 0 });
      expect(await ensureThroughProxy()).toMatchObject({ phase: 'Ready' });
    });

    it('handles a missed deletion', async () => {
      await ensureThroughProxy();
      await proxy.disconnect();
      const { uid } = (await stored()).metadata;
      received.length = 0;
      await cluster.delete(name);
      await proxy.restore();
      await eventually(() => received.length, { until: (count) => count > 0 });
      expect(await ensureThroughProxy()).toMatchObject({ phase: 'Pending' });
      expect((await stored()).metadata.uid).not.toBe(uid);
    });
  });
});
