import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runtimeSelector, type SyncRequest, UserSwarmSpec } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { listen, Registry, type RunningServer, silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { createWebhookApp, loadWebhookConfig } from '@uswarm/webhook';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { SYNC_TOKEN as TOKEN, webhookConfig } from '@uswarm/testkit/webhook-config';
import { loadControllerConfig } from './config.js';
import { type Controller, createController } from './controller.js';
import type { ControllerOptions } from './options.js';
import { FINALIZER } from './sync/finalizer.js';

const USER_SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
const IN = '/api/v1/namespaces/userswarms';
const ACCOUNTS = `${IN}/serviceaccounts`;
const SERVICES = `${IN}/services`;
const DEPLOYMENTS = '/apis/apps/v1/namespaces/userswarms/deployments';
const PODS = `${IN}/pods`;
const NAME = 'workspace-a';
const CHILD = 'agent-runtime-workspace-a';
/** The variables that the chart sets; all others have their defaults. */
const DEFAULTS = loadControllerConfig({
  SYNC_URL: 'http://webhook/sync',
  SYNC_TOKEN: TOKEN,
  RUNTIME_NAMESPACES: 'userswarms',
  LEASE_NAMESPACE: 'backend',
  POD_NAME: 'pod-1',
});

const userSwarm = (name = NAME, spec: object = {}): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name },
  spec: UserSwarmSpec.parse({ userId: 'user-1', ...spec }),
});

/** A ready runtime pod with a finalizer, so that its deletion takes time. */
const runtimePod = (): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `${CHILD}-7-x`,
    namespace: 'userswarms',
    labels: runtimeSelector(NAME),
    finalizers: ['kubelet'],
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${CHILD}-7`, uid: 'replica-set' }],
  },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
});

describe('the controller with the webhook', () => {
  let api: ScriptedApi;
  let webhook: RunningServer;
  let requests: SyncRequest[];
  let controller: Controller;
  let registry: Registry;

  beforeEach(async () => {
    api = await startScriptedApi();
    api.put('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'userswarms' } });
    requests = [];
    const app = createWebhookApp({ ...(await webhookConfig(loadWebhookConfig)), logger: silentLogger });
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.once('end', () => requests.push(JSON.parse(Buffer.concat(chunks).toString()) as SyncRequest));
      app(request, response);
    });
    webhook = await listen(server, { host: '127.0.0.1', port: 0 });
    registry = new Registry();
  });
  afterEach(async () => {
    await controller.stop();
    await webhook.close(10);
    await api.close();
  });

  const start = async (overrides: Partial<ControllerOptions> = {}): Promise<void> => {
    controller = await createController({
      kubeConfig: api.config,
      hook: { url: `${webhook.url}/sync`, token: TOKEN, timeoutMs: DEFAULTS.SYNC_TIMEOUT_MS },
      runtimeNamespaces: DEFAULTS.RUNTIME_NAMESPACES,
      resyncS: DEFAULTS.RESYNC_S,
      workers: DEFAULTS.WORKERS,
      identity: 'pod-1',
      logger: silentLogger,
      registry,
      ...overrides,
    });
  };
  const status = (name = NAME): Record<string, unknown> =>
    (api.get(USER_SWARMS, name)?.['status'] ?? {}) as Record<string, unknown>;
  const phase = (name?: string): unknown => status(name)['phase'];
  const children = (): (KubernetesObject | undefined)[] =>
    [ACCOUNTS, SERVICES, DEPLOYMENTS].map((collection) => api.get(collection, CHILD));
  const reasonOf = (type: string): string | undefined =>
    ((status()['conditions'] ?? []) as { type: string; reason: string }[]).find((entry) => entry.type === type)?.reason;
  const allCreated = (): boolean => children().every((child) => child !== undefined);
  /** Sets the Deployment available, as the Deployment controller does when the pod is ready. */
  const becomeAvailable = (): void => {
    const conditions = [{ type: 'Available', status: 'True' }];
    const counts = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, observedGeneration: 1 };
    api.put(DEPLOYMENTS, { ...api.get(DEPLOYMENTS, CHILD)!, status: { ...counts, conditions } });
  };
  /** Waits until there are no requests and writes for a while. */
  const waitForIdle = async (): Promise<void> => {
    let before = -1;
    while (before !== requests.length + api.requests.length) {
      before = requests.length + api.requests.length;
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  };

  /** Starts the controller with one Ready UserSwarm. */
  const startReady = async (): Promise<void> => {
    await start();
    api.put(USER_SWARMS, userSwarm());
    await eventually(allCreated);
    becomeAvailable();
    await eventually(() => phase() === 'Ready');
    await waitForIdle();
  };

  it('HOOK-005 calls the webhook when a UserSwarm is created or changed', async () => {
    await start();
    api.put(USER_SWARMS, userSwarm());
    await eventually(() => requests.length > 0);
    expect(requests[0]).toMatchObject({
      controller: { kind: 'CompositeController' },
      parent: { metadata: { name: NAME, finalizers: [FINALIZER] } },
      children: { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} },
      related: { 'Namespace.v1': { userswarms: {} } },
      finalizing: false,
    });
    await waitForIdle();
    const before = requests.length;
    const now = api.get(USER_SWARMS, NAME)!;
    const spec = { ...(now['spec'] as object), suspend: true };
    api.put(USER_SWARMS, { ...now, metadata: { ...now.metadata, generation: 2 }, spec });
    await eventually(() => requests.length > before && phase() === 'Suspended');
    expect(requests.at(-1)?.parent.spec.suspend).toBe(true);
  });

  it('calls the webhook for a new UserSwarm once before its pod is ready and once after', async () => {
    await start();
    api.put(USER_SWARMS, userSwarm());
    await eventually(allCreated);
    await waitForIdle();
    expect(phase()).toBe('Progressing');
    expect(requests).toHaveLength(1);
    api.put(PODS, runtimePod());
    await eventually(() => phase() === 'Ready');
    await waitForIdle();
    expect(requests).toHaveLength(2);
    becomeAvailable();
    await waitForIdle();
    expect(requests).toHaveLength(2);
  });

  it('HOOK-007 creates the children with an owner reference to the UserSwarm', async () => {
    await start();
    api.put(USER_SWARMS, userSwarm());
    await eventually(allCreated);
    const { uid } = api.get(USER_SWARMS, NAME)!.metadata;
    for (const child of children()) {
      expect(child?.metadata.ownerReferences).toEqual([
        expect.objectContaining({ kind: 'UserSwarm', name: NAME, uid, controller: true }),
      ]);
    }
  });

  it('HOOK-007 repairs a changed child, deletes an undesired one and recreates a deleted one', async () => {
    await startReady();
    const service = api.get(SERVICES, CHILD)!;
    api.put(SERVICES, { ...service, spec: { ...(service['spec'] as object), selector: { stolen: 'yes' } } });
    await eventually(() =>
      api.writes().some(({ path, method }) => method === 'PATCH' && path === `${SERVICES}/${CHILD}`),
    );
    api.put(SERVICES, { ...service, metadata: { ...service.metadata, name: 'stray', uid: 'stray-1' } });
    await eventually(() => api.get(SERVICES, 'stray') === undefined);
    api.remove(ACCOUNTS, CHILD);
    await eventually(allCreated);
    expect(phase()).not.toBe('Error');
  });

  it('HOOK-007 reports NameConflict for a foreign object, and creates the child when that object is deleted', async () => {
    await startReady();
    const service = api.get(SERVICES, CHILD)!;
    const { ownerReferences, ...foreign } = service.metadata;
    expect(ownerReferences).toHaveLength(1);
    api.put(SERVICES, { ...service, metadata: foreign });
    await eventually(() => reasonOf('Synced') === 'NameConflict');
    api.remove(SERVICES, CHILD);
    await eventually(() => allCreated() && reasonOf('Synced') === 'Synced');
  });

  it('HOOK-007 writes nothing when the children match, even if the webhook is called again', async () => {
    await startReady();
    const before = { writes: api.writes().length, requests: requests.length };
    api.put('/api/v1/namespaces', api.get('/api/v1/namespaces', 'userswarms')!);
    becomeAvailable();
    const { metadata, ...parent } = api.get(USER_SWARMS, NAME)!;
    api.put(USER_SWARMS, { ...parent, metadata: { ...metadata, labels: { note: 'changed' } } });
    await eventually(() => requests.length > before.requests);
    await waitForIdle();
    expect(api.writes().slice(before.writes)).toEqual([]);
  });

  it('HOOK-009 HOOK-010 HOOK-011 finalizes: calls the webhook, deletes all children, then removes the finalizer', async () => {
    await start();
    api.put(USER_SWARMS, userSwarm());
    await eventually(allCreated);
    const pod = runtimePod();
    api.put(PODS, pod);
    await eventually(() => requests.some(({ related }) => Object.keys(related['Pod.v1'] ?? {}).length === 1));
    await waitForIdle();
    const before = requests.length;
    const now = api.get(USER_SWARMS, NAME)!;
    api.put(USER_SWARMS, { ...now, metadata: { ...now.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } });
    await eventually(() => phase() === 'Deleting' && api.get(SERVICES, CHILD) === undefined);
    expect(requests.slice(before).every(({ finalizing }) => finalizing)).toBe(true);
    expect(api.get(ACCOUNTS, CHILD)).toBeUndefined();

    await eventually(() => api.get(PODS, pod.metadata.name)?.metadata.deletionTimestamp !== undefined);
    await waitForIdle();
    expect(api.get(DEPLOYMENTS, CHILD)).toBeUndefined();
    expect(api.get(USER_SWARMS, NAME)?.metadata.finalizers).toEqual([FINALIZER]);
    api.remove(PODS, pod.metadata.name);
    await eventually(() => api.get(USER_SWARMS, NAME) === undefined);
  });

  it('CTRL-005 HOOK-008 resyncs every 30 s and refreshes the status', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `workspace-${at}`);
    const calls = new Map<string, number>();
    let image = 'before';
    const hook = await listen(
      createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.once('end', () => {
          const { parent } = JSON.parse(Buffer.concat(chunks).toString()) as SyncRequest;
          calls.set(parent.metadata.name, (calls.get(parent.metadata.name) ?? 0) + 1);
          const { conditions } = parent.status ?? {};
          response.end(JSON.stringify({ status: { image, conditions }, children: [] }));
        });
      }),
      { host: '127.0.0.1', port: 0 },
    );
    for (const name of names) api.put(USER_SWARMS, userSwarm(name));
    await start({ hook: { url: hook.url } });
    const allShow = (expected: string): boolean => names.every((name) => status(name)['image'] === expected);
    await eventually(() => allShow('before'));
    await waitForIdle();
    calls.clear();
    // There is no watch event, so only a resync observes the change.
    image = 'after';
    await eventually(() => allShow('after'), { timeoutMs: 50_000 });
    await hook.close(10);
    for (const name of names) expect(calls.get(name)).toBeLessThanOrEqual(2);
    expect(DEFAULTS.RESYNC_S).toBe(30);
  });

  it('writes nothing after a watch was rejected once', async () => {
    const names = ['workspace-a', 'workspace-b'];
    for (const name of names) api.put(USER_SWARMS, userSwarm(name));
    await start();
    await eventually(() => names.every((name) => api.get(DEPLOYMENTS, `agent-runtime-${name}`) !== undefined));
    await waitForIdle();
    const [written, before] = [api.writes().length, requests.length];
    let refused = 0;
    api.script(({ path, query }, response) => {
      if (path !== SERVICES || !query.has('watch') || refused > 0) return undefined;
      refused += 1;
      response.writeHead(403).end('{"code":403,"reason":"Forbidden"}');
      return true;
    });
    api.endWatches('end');
    await eventually(() => refused === 1 && requests.length >= before + names.length);
    await waitForIdle();
    expect(api.writes().slice(written)).toEqual([]);
  });

  it('is not ready while a watch is refused, reports that in its metric, and stays the leader', async () => {
    const timing = { watchS: 60, silenceMs: 60_000, backoff: { initialMs: 5, maxMs: 20 }, staleMs: 50 };
    await start({ timing });
    await eventually(() => controller.ready());
    const restore = api.script(({ path, query }, response) => {
      if (path !== USER_SWARMS || !query.has('watch')) return undefined;
      response.writeHead(403).end('{"code":403,"reason":"Forbidden"}');
      return true;
    });
    api.endWatches('end');
    await eventually(() => !controller.ready());
    expect(await registry.metrics()).toContain('uswarm_controller_caches_synced 0\n');
    expect(controller.leading()).toBe(true);
    restore();
    await eventually(async () => (await registry.metrics()).includes('uswarm_controller_caches_synced 1\n'));
    expect(controller.ready()).toBe(true);
  });

  it('has one leader: another replica takes over when the first one stops', async () => {
    const lease = {
      namespace: 'backend',
      name: 'c',
      durationS: 2,
      timing: { retryPeriodMs: 50, renewDeadlineMs: 1_000 },
    };
    await start({ lease, identity: 'first' });
    await eventually(() => controller.leading());
    const first = controller;
    const second = new Registry();
    await start({ lease, identity: 'second', registry: second });
    await eventually(() => controller.ready());
    expect(controller.leading()).toBe(false);
    api.put(USER_SWARMS, userSwarm());
    await eventually(allCreated);
    await eventually(async () => (await second.metrics()).includes('uswarm_userswarms{phase="Progressing"} 1'));
    expect(await second.metrics()).toContain('uswarm_controller_queue_depth 0');
    await first.stop();
    await eventually(() => controller.leading());
    api.remove(SERVICES, CHILD);
    await eventually(allCreated);
  });

  it('exports metrics', async () => {
    await start();
    await eventually(() => controller.ready());
    api.put(USER_SWARMS, userSwarm());
    await eventually(allCreated);
    becomeAvailable();
    await eventually(() => phase() === 'Ready');
    await eventually(async () => (await registry.metrics()).includes('uswarm_userswarms{phase="Ready"} 1'));
    const text = await registry.metrics();
    for (const line of [
      'uswarm_controller_leader 1',
      'uswarm_controller_queue_depth',
      'uswarm_controller_oldest_reconcile_age_seconds',
      'uswarm_controller_sync_duration_seconds_count{outcome="synced"}',
      'uswarm_controller_hook_duration_seconds_count{outcome="ok"}',
      'uswarm_controller_time_to_ready_seconds_count{from="create"} 1',
      'uswarm_controller_api_writes_total{verb="create",resource="deployments"} 1',
      'uswarm_controller_watches_total{resource="userswarms"}',
    ]) {
      expect(text).toContain(line);
    }
  });
});
