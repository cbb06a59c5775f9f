import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { listen, type RunningServer, silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { createWebhookApp, loadWebhookConfig } from '@uswarm/webhook';
import type { ApiRequest, ScriptedApi } from '@uswarm/testkit/scripted-api';
import { SYNC_TOKEN, webhookConfig } from '@uswarm/testkit/webhook-config';
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
import { type Controller, createController } from './controller.js';

/** Milliseconds, long enough for a busy machine. */
const WITHIN_MS = 300_000;

describe('the controller on an API server with faults', () => {
  let api: ScriptedApi;
  let webhook: RunningServer;
  let controller: Controller;

  beforeEach(async () => {
    api = await startApiWithNamespace();
    const app = createWebhookApp({ ...(await webhookConfig(loadWebhookConfig)), logger: silentLogger });
    webhook = await listen(createServer(app), { host: '127.0.0.1', port: 0 });
    controller = await createController({
      kubeConfig: api.config,
      hook: { url: `${webhook.url}/sync`, token: SYNC_TOKEN },
      runtimeNamespaces: ['userswarms'],
      maxConcurrentStarts: 0,
      identity: 'pod-1',
      logger: silentLogger,
    });
  });
  afterEach(async () => {
    await controller.stop();
    await webhook.close(10);
    await api.close();
  });

  const isStatusWrite = ({ method, path }: ApiRequest): boolean => method === 'PUT' && path.endsWith('/status');
  const isEvent = ({ method, path }: ApiRequest): boolean => method !== 'GET' && path.includes('/events');

  const isChild = ({ path }: ApiRequest): boolean => path.includes('/namespaces/userswarms/');
  it.each<[status: number, what: string, matches: (request: ApiRequest) => boolean]>([
    [429, 'every creation and patch', () => true],
    [429, 'every child', isChild],
    [503, 'every child', isChild],
  ])(
    'writes neither status nor Event while it gets %s for %s of 300 UserSwarms, and completes all later',
    async (code, _what, matches) => {
      const names = Array.from({ length: 300 }, (_, at) => `workspace-${at}`);
      let refused = 0;
      const heal = api.script((request, response) => {
        if (!['POST', 'PATCH'].includes(request.method) || !matches(request)) return undefined;
        refused += 1;
        const body = JSON.stringify({ kind: 'Status', code, reason: 'TooManyRequests', message: 'not now' });
        response.writeHead(code, { 'content-type': 'application/json', 'retry-after': '1' }).end(body);
        return true;
      });
      for (const name of names) api.put(USER_SWARMS, userSwarm(name));
      // Several attempts, with a pause between rejected writes, for all UserSwarms or for each.
      await eventually(() => refused >= 20, { timeoutMs: WITHIN_MS });
      expect(api.requests.filter(isStatusWrite)).toEqual([]);
      expect(api.requests.filter(isEvent)).toEqual([]);
      heal();
      await eventually(() => hasChildren(api, names), { timeoutMs: WITHIN_MS });
      for (const name of names) setReadyReplicas(api, name, 1);
      await eventually(() => names.every((name) => statusOf(api, name).phase === 'Ready'), { timeoutMs: WITHIN_MS });
      expect(api.requests.filter(isEvent).filter(({ body }) => body['type'] === 'Warning')).toEqual([]);
    },
  );

  it('corrects a child that another client rewrites with increasing back-off, and names its field manager', async () => {
    const name = 'workspace-a';
    const child = childOf(name);
    api.put(USER_SWARMS, userSwarm(name));
    await eventually(() => hasChildren(api, [name]), { timeoutMs: WITHIN_MS });
    setReadyReplicas(api, name, 1);
    await eventually(() => statusOf(api, name).phase === 'Ready', { timeoutMs: WITHIN_MS });
    const isRepair = ({ contentType = '', path }: ApiRequest): boolean =>
      path === `${DEPLOYMENTS}/${child}` && contentType.includes('apply-patch');
    const repairs = (): number => api.requests.filter(isRepair).length;
    const rewrite = (): void => {
      const found = api.get(DEPLOYMENTS, child)!;
      const managedFields = [{ manager: 'kyverno', operation: 'Update', time: '2030-01-01T00:00:00Z', fieldsV1: {} }];
      api.put(DEPLOYMENTS, {
        ...found,
        metadata: { ...found.metadata, managedFields },
        spec: { ...(found['spec'] as object), replicas: 7 },
      });
    };
    const isRewritten = (): boolean => (api.get(DEPLOYMENTS, child)!['spec'] as { replicas: number }).replicas === 7;
    const before = repairs();
    const started = performance.now();
    const warnings = (): ApiRequest[] => api.requests.filter(isEvent).filter(({ body }) => body['type'] === 'Warning');
    while (warnings().length === 0) {
      if (!isRewritten()) rewrite();
      await eventually(() => !isRewritten() || warnings().length > 0, { timeoutMs: WITHIN_MS });
    }
    expect(warnings()[0]?.body).toMatchObject({
      reason: 'Contested',
      message: expect.stringContaining(`The field manager kyverno keeps changing Deployment userswarms/${child}`),
    });
    // The third correction waits one and then two seconds; a slow machine only makes it later.
    expect(repairs() - before).toBe(3);
    expect(performance.now() - started).toBeGreaterThan(2_900);
  });
});
