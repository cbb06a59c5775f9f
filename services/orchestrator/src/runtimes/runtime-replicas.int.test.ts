import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import type { MessageData, Workspace } from '@uswarm/contract';
import { userSwarmName } from '@uswarm/contract/userswarm';
import { AgentRuntime } from '@uswarm/runtime-proto';
import { type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { type ApiClient, createApiClient } from '../../test/api-client.js';
import { recordApplies, USER_SWARMS } from '../../test/applied-user-swarms.js';
import { type EntryPoint, startEntryPoint } from '../../test/entry-point.js';
import { SCHEMA } from '../../test/database.js';
import { testEnvironment } from '../../test/test-orchestrator.js';
import { openDatabase } from '../platform/database/database.js';

const WITHIN_MS = 60_000;

/** Two orchestrator processes, one Postgres, an API server in memory, and a runtime that only implements `Identify`. */
describe('the state of a runtime with several replicas', () => {
  let issuer: OidcIssuer;
  let testDatabase: TestDatabase;
  let proxy: FaultInjectionProxy;
  let server: ScriptedApi;
  let runtime: Http2Server;
  let folder: string;
  let environment: Record<string, string>;
  let replicas: EntryPoint[];
  let token: string;
  let workspaceId: string;

  beforeAll(async () => {
    issuer = await startOidcIssuer();
    testDatabase = await createTestDatabase(SCHEMA);
    proxy = await startFaultInjectionProxy(testDatabase.url);
    server = await startScriptedApi();
    recordApplies(server);
    runtime = await startRuntime();
    folder = mkdtempSync(path.join(tmpdir(), 'uswarm-replicas-'));
    const kubeconfig = path.join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, server.config.exportConfig());
    environment = {
      ...testEnvironment(proxy.redirect(testDatabase.url), issuer),
      RUNTIME_DRIVER: 'kubernetes',
      KUBECONFIG: kubeconfig,
      RUNTIME_WORKERS: '2',
      TURN_WORKERS: '0',
    };
    replicas = [startEntryPoint('main', environment), startEntryPoint('main', environment)];
    token = await issuer.issueToken({ email: 'ada@example.com', name: 'Ada' });
    const client = await clientOf(0);
    await client.post('/v1/auth/sign-up', undefined, 204);
    workspaceId = (await client.get<{ data: Workspace[] }>('/v1/workspaces')).body.data[0]?.id ?? '';
    await eventually(stored, { until: (swarm) => swarm !== undefined, timeoutMs: WITHIN_MS });
    report('Ready');
    if ((await shows('ready')) !== 'ready') throw new Error('the runtime did not become ready');
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await Promise.all([proxy.close(), server.close(), issuer.close(), new Promise((done) => runtime.close(done))]);
    rmSync(folder, { recursive: true });
    await testDatabase.drop();
  });

  async function startRuntime(): Promise<Http2Server> {
    const adapter = connectNodeAdapter({
      routes: (router) =>
        router.service(AgentRuntime, {
          identify: async () => ({ workspaceId, instanceId: 'i' }),
          status: async () => ({ busy: true, idleMs: 0n }),
        }),
    });
    const listening = createServer(adapter);
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
    return listening;
  }
  const clientOf = async (replica: number): Promise<ApiClient> =>
    createApiClient((await replicas[replica]?.listening) ?? '', { 'x-token': token });
  const stored = () => server.get(USER_SWARMS, userSwarmName(workspaceId));

  function report(phase: 'Ready' | 'Progressing' | 'Suspended'): void {
    const swarm = stored();
    if (swarm === undefined) throw new Error('the UserSwarm does not exist');
    const address = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}`;
    const conditions = [{ type: 'Ready', status: phase === 'Ready' ? 'True' : 'False', reason: 'Starting' }];
    const observedGeneration = swarm.metadata.generation;
    server.put(USER_SWARMS, { ...swarm, status: { phase, address, conditions, observedGeneration } });
  }
  async function shows(status: string, replica = 0): Promise<string | undefined> {
    const client = await clientOf(replica);
    const readStatus = async () => {
      const { body } = await client.raw<{ data?: Workspace[] }>({ method: 'GET', path: '/v1/workspaces' });
      return body.data?.[0]?.runtime.status;
    };
    return eventually(readStatus, { until: (shown) => shown === status, timeoutMs: WITHIN_MS });
  }

  it('follows the status that the controller writes', async () => {
    report('Progressing');
    expect(await shows('provisioning')).toBe('provisioning');
    report('Ready');
    expect(await shows('ready', 1)).toBe('ready');
  });

  it('is correct after a change during an outage of the watch', async () => {
    const restore = server.script(({ path: requestPath }, response) => {
      if (!requestPath.startsWith(USER_SWARMS)) return undefined;
      response.destroy();
      return true;
    });
    server.endWatches('disconnect');
    report('Progressing');
    server.compact();
    restore();
    expect(await shows('provisioning')).toBe('provisioning');
    report('Ready');
    expect(await shows('ready')).toBe('ready');
  });

  it('is correct after a change during an outage of Postgres', async () => {
    await proxy.disconnect();
    report('Progressing');
    await eventually(() => replicas.map(({ lines }) => lines.join('')), {
      until: (logs) => logs.every((log) => log.includes('comparing changed runtimes failed')),
      timeoutMs: WITHIN_MS,
    });
    await proxy.restore();
    expect(await shows('provisioning')).toBe('provisioning');
    report('Ready');
    expect(await shows('ready')).toBe('ready');
  });

  it('is correct after one replica was killed, and a message still resumes a suspended runtime', async () => {
    await replicas[0]?.kill();
    const client = await clientOf(1);
    report('Progressing');
    expect(await shows('provisioning', 1)).toBe('provisioning');
    report('Ready');
    expect(await shows('ready', 1)).toBe('ready');
    await suspend();
    const home = `/v1/workspaces/${workspaceId}/conversations`;
    const [conversation] = (await client.get<{ data: { id: string }[] }>(home)).body.data;
    const content = { type: 'text', text: 'wake up' };
    await client.post<{ data: MessageData }>(`${home}/${conversation?.id}/messages`, { content }, 201);
    const suspended = () => (stored()?.['spec'] as { suspend?: boolean } | undefined)?.suspend;
    expect(await eventually(suspended, { until: (value) => value === false, timeoutMs: WITHIN_MS })).toBe(false);
    report('Ready');
    expect(await shows('ready', 1)).toBe('ready');
  });

  /** Suspends the runtime as the reconciler does at the idle limit. */
  async function suspend(): Promise<void> {
    const database = openDatabase({ url: testDatabase.url, maxConnections: 1 });
    await database.updateTable('runtimes').set({ desired: 'suspended', phase: 'Suspended' }).execute();
    await database.updateTable('work').set({ run_at: new Date() }).where('kind', '=', 'runtime').execute();
    await database.destroy();
    const suspended = () => (stored()?.['spec'] as { suspend?: boolean } | undefined)?.suspend;
    expect(await eventually(suspended, { until: (value) => value === true, timeoutMs: WITHIN_MS })).toBe(true);
    report('Suspended');
  }
});
