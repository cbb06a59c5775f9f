import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { userSwarmName } from '@uswarm/contract/userswarm';
import { createCredentials, createKubeClient, createWatch, type Credentials } from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import {
  createKubernetesDriver,
  type KubernetesDriver,
} from '../../services/orchestrator/src/features/runtimes/drivers/kubernetes/kubernetes-driver.js';
import {
  PlatformUnreachable,
  type RuntimeObservation,
  type RuntimeSpec,
} from '../../services/orchestrator/src/features/runtimes/drivers/driver.js';
import {
  FIELD_MANAGER,
  type UserSwarmSettings,
} from '../../services/orchestrator/src/features/runtimes/drivers/kubernetes/userswarm-apply.js';
import type { StoredUserSwarm } from '../../services/orchestrator/src/features/runtimes/drivers/kubernetes/userswarm.js';
import { eventually } from '../../services/orchestrator/test/eventually.js';
import { type CuttableProxy, startCuttableProxy } from '../../services/orchestrator/test/cuttable-proxy.js';
import { counted } from './counted-client.js';
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
  let calls: ReturnType<typeof counted>['calls'];
  let spec: RuntimeSpec;
  let name: string;
  let hints: string[];
  let others: KubernetesDriver[] = [];
  let connections: Credentials[] = [];
  beforeAll(async () => {
    cluster = await createThrowawayCluster();
  });
  beforeEach(async () => {
    spec = { workspaceId: randomUUID(), userId: randomUUID(), suspended: false };
    name = userSwarmName(spec.workspaceId);
    hints = [];
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
    heard: string[] = hints,
  ): Promise<KubernetesDriver> {
    const credentials = await createCredentials(config);
    connections.push(credentials);
    const counting = counted(createKubeClient({ credentials, fieldManager: FIELD_MANAGER, timeoutMs: 10_000 }));
    calls = counting.calls;
    const made = createKubernetesDriver({
      client: counting.client,
      watch: createWatch(credentials),
      type: cluster.type,
      settings: { ...SETTINGS, ...settings },
      logger: silentLogger,
    });
    // Those of other tests are in the same cluster.
    made.onChange((workspaceId) => {
      if (workspaceId === spec.workspaceId) heard.push(workspaceId);
    });
    return made;
  }
  const ensure = (more: Partial<RuntimeSpec> = {}) => driver.ensure({ ...spec, ...more }, { unresponsive: false });
  const stored = async (): Promise<StoredUserSwarm> => {
    const swarm = await cluster.get(name);
    if (swarm === undefined) throw new Error(`there is no ${name}`);
    return swarm;
  };
  /** Waits for a hint, as the lifecycle does, and looks. */
  async function hinted(more: Partial<RuntimeSpec> = {}): Promise<RuntimeObservation> {
    await eventually(
      () => hints.length,
      (count) => count > 0,
    );
    hints.length = 0;
    return ensure(more);
  }
  async function setStatus(status: object): Promise<void> {
    const { metadata } = await stored();
    await cluster.setStatus(name, { observedGeneration: metadata.generation, ...status });
  }
  /** Repeats it until it needs no call. */
  async function settled(look: () => Promise<unknown> = ensure): Promise<void> {
    const needed = async (): Promise<number> => {
      const before = calls.get + calls.apply + calls.delete;
      await look();
      return calls.get + calls.apply + calls.delete - before;
    };
    expect(await eventually(needed, (count) => count === 0)).toBe(0);
  }

  it('makes a UserSwarm that is ours, with the settings and without an image', async () => {
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
    expect(metadata.managedFields?.map(({ manager, operation }) => [manager, operation])).toEqual([
      ['uswarm-orchestrator', 'Apply'],
    ]);
  });

  it('needs neither Secret nor defaults', async () => {
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
    for (let look = 0; look < 5; look += 1) await ensure();
    expect({ calls: { ...calls }, version: (await stored()).metadata.resourceVersion }).toEqual(before);
  });

  it('leaves what another orchestrator wrote as it is', async () => {
    await ensure();
    const version = (await stored()).metadata.resourceVersion;
    const another = await start(cluster.orchestratorConfig());
    others.push(another);
    await another.ensure(spec, { unresponsive: false });
    expect((await stored()).metadata.resourceVersion).toBe(version);
  });

  it('writes new settings, and only once', async () => {
    await ensure();
    const another = await start(cluster.orchestratorConfig(), { defaultModel: 'opus', defaultProvider: undefined });
    others.push(another);
    for (let look = 0; look < 3; look += 1) await another.ensure(spec, { unresponsive: false });
    expect((await stored()).spec.config).toEqual({ defaultModel: 'opus', envSecretRef: { name: 'model-env' } });
    expect(calls.apply).toBe(1);
  });

  it('hints at each change of the status, and reads it', async () => {
    await ensure();
    await setStatus({ phase: 'Progressing', conditions: condition('False', 'ImagePullBackOff') });
    expect(await hinted()).toMatchObject({ phase: 'Progressing', reason: 'ImagePullBackOff', address: null });
    await setStatus({ phase: 'Error', conditions: condition('False', 'PolicyDenied') });
    expect(await hinted()).toMatchObject({ phase: 'Error', reason: 'PolicyDenied', address: null });
    await setStatus({ phase: 'Ready', conditions: condition('True', 'Available') });
    const address = `http://agent-runtime-${name}.runtimes.svc:42618`;
    expect(await hinted()).toEqual({ phase: 'Ready', reason: '', address, current: true });
    await setStatus({ address: 'http://elsewhere:1' });
    expect(await hinted()).toMatchObject({ phase: 'Ready', address: 'http://elsewhere:1' });
  });

  it('suspends and wakes, and knows a status of before', async () => {
    await ensure();
    await setStatus({ phase: 'Ready', conditions: condition('True', 'Available') });
    expect(await ensure({ suspended: true })).toMatchObject({ phase: 'Suspended', address: null });
    expect((await stored()).spec.suspend).toBe(true);
    await setStatus({ phase: 'Suspended', conditions: condition('False', 'Suspended') });
    expect(await ensure()).toMatchObject({ phase: 'Progressing', current: false });
    expect((await stored()).spec.suspend).toBe(false);
    hints.length = 0;
    await setStatus({ phase: 'Ready', conditions: condition('True', 'Available') });
    expect(await hinted()).toMatchObject({ phase: 'Ready', current: true });
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
  ])('leaves a runtime that an operator suspended by %s as it is, until they let it go', async (_how, suspend) => {
    await ensure();
    await setStatus({ phase: 'Ready' });
    hints.length = 0;
    await suspend();
    expect(await hinted()).toMatchObject({ phase: 'Suspended' });
    await settled();
    for (let look = 0; look < 3; look += 1) expect(await ensure()).toMatchObject({ phase: 'Suspended' });
    expect((await stored()).spec.suspend).toBe(true);
    await cluster.merge(name, { spec: { suspend: false } });
    expect(await hinted()).toMatchObject({ phase: 'Ready' });
    expect((await stored()).spec.suspend).toBe(false);
  });

  it('takes a foreign false back by force, and nothing else', async () => {
    await ensure({ suspended: true });
    await cluster.merge(name, { spec: { suspend: false, config: { defaultModel: 'theirs' } } });
    expect(await hinted({ suspended: true })).toMatchObject({ phase: 'Suspended' });
    expect((await stored()).spec).toMatchObject({ suspend: true, config: { defaultModel: 'theirs' } });
    expect(await ensure()).toMatchObject({ phase: 'Pending' });
    expect((await stored()).spec.suspend).toBe(false);
  });

  it('leaves a setting that an operator changed as it is', async () => {
    await ensure();
    await cluster.merge(name, { spec: { config: { defaultModel: 'theirs' } } });
    await settled();
    await ensure({ suspended: true });
    expect((await stored()).spec.config).toMatchObject({ defaultModel: 'theirs', defaultProvider: 'demo' });
  });

  it('does not touch a UserSwarm that is not ours, nor remove it', async () => {
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

  it('does not touch one that stopped being ours', async () => {
    await ensure();
    await cluster.merge(name, { metadata: { labels: { [MANAGED_BY]: 'somebody' } } });
    expect(await hinted()).toMatchObject({ reason: 'NameConflict' });
    expect((await stored()).metadata.labels).toEqual({ [MANAGED_BY]: 'somebody' });
  });

  it('creates a deleted UserSwarm again after the deletion has completed', async () => {
    await ensure();
    const { uid } = (await cluster.merge(name, { metadata: { finalizers: [FINALIZER] } })).metadata;
    await cluster.delete(name);
    expect(await hinted()).toMatchObject({ phase: 'Deleting', address: null });
    expect((await stored()).metadata.uid).toBe(uid);
    await cluster.merge(name, { metadata: { finalizers: [] } });
    expect(await hinted()).toMatchObject({ phase: 'Pending' });
    expect((await stored()).metadata.uid).not.toBe(uid);
  });

  it('reports a removal only after the UserSwarm no longer exists', async () => {
    await ensure();
    await cluster.merge(name, { metadata: { finalizers: [FINALIZER] } });
    await settled(async () => expect(await driver.remove(spec.workspaceId)).toBe(false));
    expect((await stored()).metadata.deletionTimestamp).toBeDefined();
    hints.length = 0;
    await cluster.merge(name, { metadata: { finalizers: [] } });
    await eventually(
      () => hints.length,
      (count) => count > 0,
    );
    expect(await driver.remove(spec.workspaceId)).toBe(true);
    expect(await cluster.get(name)).toBeUndefined();
  });

  it('removes a missing UserSwarm immediately, and a suspended one like any other', async () => {
    expect(await driver.remove(spec.workspaceId)).toBe(true);
    await ensure({ suspended: true });
    expect(
      await eventually(
        () => driver.remove(spec.workspaceId),
        (gone) => gone,
      ),
    ).toBe(true);
  });

  it('makes one that the API server refuses wait, with its reason', async () => {
    expect(await ensure({ userId: '' })).toMatchObject({ phase: 'Progressing', reason: 'Invalid' });
    expect(await cluster.get(name)).toBeUndefined();
  });

  describe('over a network that fails', () => {
    let way: CuttableProxy;
    let cut: KubernetesDriver;
    let heard: string[];
    beforeEach(async () => {
      way = await startCuttableProxy(cluster.server);
      heard = [];
      cut = await start(cluster.orchestratorConfig(way.redirect(cluster.server)), {}, heard);
      others.push(cut);
    });
    afterEach(() => way.close());
    const look = () => cut.ensure(spec, { unresponsive: false });

    it('goes on after the way to the API server was cut, and sees what it missed', async () => {
      await look();
      await way.cut();
      heard.length = 0;
      // The driver keeps reporting the last known state; an unknown UserSwarm has none.
      expect(await look()).toMatchObject({ phase: 'Pending' });
      await expect(cut.ensure({ ...spec, workspaceId: randomUUID() }, { unresponsive: false })).rejects.toThrow(
        PlatformUnreachable,
      );
      await expect(cut.remove(spec.workspaceId)).rejects.toThrow(PlatformUnreachable);
      await look();
      await setStatus({ phase: 'Ready' });
      await way.mend();
      await eventually(
        () => heard.length,
        (count) => count > 0,
      );
      expect(await look()).toMatchObject({ phase: 'Ready' });
    });

    it('sees a deletion that it missed', async () => {
      await look();
      await way.cut();
      const { uid } = (await stored()).metadata;
      heard.length = 0;
      await cluster.delete(name);
      await way.mend();
      await eventually(
        () => heard.length,
        (count) => count > 0,
      );
      expect(await look()).toMatchObject({ phase: 'Pending' });
      expect((await stored()).metadata.uid).not.toBe(uid);
    });
  });
});
