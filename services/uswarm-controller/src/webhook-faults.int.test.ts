import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Condition } from '@uswarm/contract/userswarm';
import { Registry, silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import type { ScriptedApi } from '@uswarm/testkit/scripted-api';
import {
  childOf,
  DEPLOYMENTS,
  hasChildren,
  setReadyReplicas,
  startApiWithNamespace,
  statusOf,
  USER_SWARMS,
  userSwarm,
} from '../test/scripted-userswarms.js';
import { startWebhookService, SYNC_TOKEN, type WebhookPod, type WebhookService } from '../test/webhook-service.js';
import { type Controller, createController } from './controller.js';
import type { ControllerOptions } from './options.js';

/** Milliseconds, long enough for a busy machine. */
const WITHIN_MS = 300_000;

describe('the controller and processes of the webhook behind a Service', () => {
  let api: ScriptedApi;
  let service: WebhookService;
  let controller: Controller;
  let registry: Registry;

  beforeEach(async () => {
    api = await startApiWithNamespace();
    service = await startWebhookService();
    registry = new Registry();
  });
  afterEach(async () => {
    await controller.stop();
    await service.close();
    await api.close();
  });

  const start = async (overrides: Partial<ControllerOptions>, outageMs?: number): Promise<void> => {
    controller = await createController({
      kubeConfig: api.config,
      hook: { url: service.url, token: SYNC_TOKEN, ...(outageMs === undefined ? {} : { outageMs }) },
      runtimeNamespaces: ['userswarms'],
      maxConcurrentStarts: 0,
      identity: 'pod-1',
      logger: silentLogger,
      registry,
      ...overrides,
    });
  };
  const phase = (name: string): unknown => statusOf(api, name).phase;
  const condition = (name: string, wanted: string): Condition | undefined =>
    statusOf(api, name).conditions?.find(({ type }) => type === wanted);
  const isUnavailable = (name: string): boolean => condition(name, 'Ready')?.reason === 'WebhookUnavailable';
  const becomeReady = async (names: readonly string[]): Promise<void> => {
    for (const name of names) api.put(USER_SWARMS, userSwarm(name));
    await eventually(() => hasChildren(api, names), { timeoutMs: WITHIN_MS });
    for (const name of names) setReadyReplicas(api, name, 1);
    await eventually(() => names.every((name) => phase(name) === 'Ready'), { timeoutMs: WITHIN_MS });
  };
  const writes = (): number =>
    api.requests.filter(({ method, path }) => method !== 'GET' && !path.includes('/leases')).length;
  const calls = async (failed: boolean): Promise<number> => {
    const { values } = await registry.getSingleMetric('uswarm_controller_hook_duration_seconds')!.get();
    return values
      .filter((value) => (value as { metricName?: string }).metricName?.endsWith('_count') === true)
      .filter(({ labels }) => ((labels as { outcome?: string }).outcome !== 'ok') === failed)
      .reduce((sum, { value }) => sum + value, 0);
  };
  /** Waits until there are no writes for the duration of several reconciles. */
  const rest = async (): Promise<void> => {
    for (let before = -1; before !== writes();) {
      before = writes();
      await callsPass(200);
    }
  };
  const callsPass = async (count: number): Promise<void> => {
    const before = await calls(false);
    await eventually(async () => (await calls(false)) >= before + count, { timeoutMs: WITHIN_MS });
  };

  it('replaces the webhook under 1,000 UserSwarms with at most ten writes and no failed call', async () => {
    const old = [await service.startPod(), await service.startPod()];
    service.setEndpoints(old);
    await start({ resyncS: 10 });
    await becomeReady(Array.from({ length: 1_000 }, (_, at) => `workspace-${at}`));
    await rest();
    const [before, failed] = [writes(), await calls(true)];
    const running: WebhookPod[] = [...old];
    for (const leaving of old) {
      running.push(await service.startPod());
      service.setEndpoints(running);
      await callsPass(100);
      running.splice(running.indexOf(leaving), 1);
      service.setEndpoints(running);
      await leaving.stop();
      await callsPass(100);
    }
    await callsPass(1_000);
    expect(writes() - before).toBeLessThanOrEqual(10);
    expect((await calls(true)) - failed).toBe(0);
  });

  it('reports an outage on UserSwarms that need the webhook, and writes nothing to the others', async () => {
    const pod = await service.startPod();
    service.setEndpoints([pod]);
    await start({ resyncS: 1 }, 500);
    await becomeReady(['workspace-healthy', 'workspace-crashed', 'workspace-leaving']);
    await callsPass(10);
    const healthy = api.get(USER_SWARMS, 'workspace-healthy');
    service.setEndpoints([]);
    await pod.stop();

    api.put(USER_SWARMS, userSwarm('workspace-new'));
    setReadyReplicas(api, 'workspace-crashed', 0);
    const leaving = api.get(USER_SWARMS, 'workspace-leaving')!;
    api.put(USER_SWARMS, { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } });
    const affected = ['workspace-new', 'workspace-crashed', 'workspace-leaving'];
    await eventually(() => affected.every(isUnavailable), { timeoutMs: WITHIN_MS });
    expect(affected.map(phase)).toEqual(['Progressing', 'Progressing', 'Deleting']);
    for (const name of affected) {
      expect(condition(name, 'Ready')?.status).toBe('False');
      expect(condition(name, 'Synced')).toMatchObject({ status: 'False', reason: 'WebhookUnavailable' });
    }
    const failures = await calls(true);
    await eventually(async () => (await calls(true)) > failures + 3, { timeoutMs: WITHIN_MS });
    expect(api.get(USER_SWARMS, 'workspace-healthy')).toEqual(healthy);
    expect(api.get(USER_SWARMS, 'workspace-leaving')?.metadata.finalizers).toHaveLength(1);

    service.setEndpoints([await service.startPod()]);
    setReadyReplicas(api, 'workspace-crashed', 1);
    await eventually(() => phase('workspace-crashed') === 'Ready' && !isUnavailable('workspace-new'), {
      timeoutMs: WITHIN_MS,
    });
    expect(condition('workspace-crashed', 'Synced')).toMatchObject({ status: 'True' });
    await eventually(() => api.get(DEPLOYMENTS, childOf('workspace-new')) !== undefined, { timeoutMs: WITHIN_MS });
    await eventually(() => api.get(USER_SWARMS, 'workspace-leaving') === undefined, { timeoutMs: WITHIN_MS });
    expect(api.get(DEPLOYMENTS, childOf('workspace-leaving'))).toBeUndefined();
  });
});
