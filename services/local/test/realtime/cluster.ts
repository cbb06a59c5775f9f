import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  freePort,
  type ModelScript,
  type OidcIssuer,
  startModelServer,
  startOidcIssuer,
  startValkey,
} from '@uswarm/dev-servers';
import { type BusProxy, startBusProxy } from '@uswarm/testkit/bus-proxy';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import pg from 'pg';
import { createDatabaseLocks, type DatabaseLocks } from '../database-locks.js';
import { runProgram } from '../program.js';
import { modelSettings } from '../model-settings.js';
import { type RuntimeProcess, signalIfAlive, signalRuntime } from '../processes.js';
import { createServiceSecrets, gatewayEnvironment, orchestratorEnvironment } from '../separate.js';
import { type OwnPostgres, startOwnPostgres } from './own-postgres.js';
import { USER_NAME } from './folding-client.js';
import { buildPreviousProgram, type PreviousProgram } from '../previous-release.js';
import { scriptedAnswers } from './scripted-answers.js';
import { createServiceProcess, type ServiceProcess } from './service-process.js';

/** Index of the gateway that can have the previous release. */
const PREVIOUS_GATEWAY = 1;
const CURRENT_GATEWAY = 'services/realtime-gateway/dist/main.js';

export interface ModelCall {
  /** The prompt's last message, as JSON. */
  lastMessage: string;
  /** When it was received, by `performance.now()`. */
  at: number;
}

/** Two orchestrators and two gateways, each with its own connection to a real Valkey, and a real Postgres. */
export interface RealtimeCluster {
  restUrls: readonly string[];
  socketUrls: readonly string[];
  orchestrators: readonly ServiceProcess[];
  gateways: readonly ServiceProcess[];
  /** Between each gateway and Valkey, then between each orchestrator and Valkey. */
  busProxies: readonly BusProxy[];
  databaseProxy: FaultInjectionProxy;
  postgres: Pick<OwnPostgres, 'restart' | 'promoteStandby' | 'lost'>;
  /** The requests that the model server has received. */
  modelCalls: readonly ModelCall[];
  /** Replaces the gateway with the highest index by the previous release. */
  runPreviousGateway(): Promise<void>;
  runCurrentGateways(): Promise<void>;
  restartValkey(): Promise<void>;
  pauseValkey(): void;
  resumeValkey(): void;
  /** Sends a signal to these workspaces' running runtimes. @returns their process ids */
  signalRuntimes(workspaceIds: readonly string[], signal: NodeJS.Signals): Promise<number[]>;
  /** Kills these workspaces' runtimes, and runtimes without a row in a promoted standby. */
  killRuntimes(workspaceIds: readonly string[]): Promise<void>;
  /** The orchestrator that publishes a workspace's late events; undefined if none does. */
  relayOf(workspaceId: string): Promise<ServiceProcess | undefined>;
  newToken(): Promise<string>;
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  locks: DatabaseLocks;
  /** Ends all faults; what was killed runs again. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

/** @param random the bus' source of chance */
export async function startRealtimeCluster(random: () => number): Promise<RealtimeCluster> {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'uswarm-realtime-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const valkey = await startValkey({ directory });
  stack.defer(() => valkey.close());
  const modelCalls: ModelCall[] = [];
  const script: ModelScript = (...request) => {
    modelCalls.push({ lastMessage: JSON.stringify(request[0].messages.at(-1)), at: performance.now() });
    return scriptedAnswers(...request);
  };
  const model = await startModelServer({ script });
  stack.defer(() => model.close());
  const issuer: OidcIssuer = await startOidcIssuer();
  stack.defer(() => issuer.close());
  const postgres = await startOwnPostgres();
  stack.defer(() => postgres.close());
  const databaseProxy = await startFaultInjectionProxy(postgres.url);
  stack.defer(() => databaseProxy.close());
  const pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
  pool.on('error', () => undefined);
  stack.defer(() => pool.end());

  const secrets = createServiceSecrets();
  const busProxies: BusProxy[] = [];
  for (let count = 0; count < 4; count += 1) {
    const proxy = await startBusProxy(valkey.url, random);
    busProxies.push(proxy);
    stack.defer(() => proxy.close());
  }
  const rates = Object.fromEntries(
    ['IP', 'USER', 'SENDS'].flatMap((name) => [
      [`RATE_${name}_PER_S`, '10000'],
      [`RATE_${name}_BURST`, '10000'],
    ]),
  );

  async function signalRuntimes(signal: NodeJS.Signals, workspaceIds?: readonly string[]): Promise<number[]> {
    const { rows } = await pool.query<RuntimeProcess>('SELECT pid, workspace_id FROM runtime_processes');
    const chosen = rows.filter((row) => workspaceIds?.includes(row.workspace_id) ?? true);
    for (const row of chosen) signalRuntime(row, signal);
    return chosen.map(({ pid }) => pid);
  }
  // After the services, which would start others.
  stack.defer(async () => void (await signalRuntimes('SIGKILL')));

  const services: ServiceProcess[] = [];
  const internalPorts: number[] = [];
  for (let index = 0; index < 2; index += 1) {
    const [http, internal] = [await freePort(), await freePort()];
    internalPorts.push(internal);
    const env = {
      ...orchestratorEnvironment({
        databaseUrl: databaseProxy.redirect(postgres.url),
        issuer,
        redis: busProxies[2 + index]!.url,
        secrets,
      }),
      ...rates,
      ...modelSettings(model),
      SUMMARY_WORKERS: '0',
      WORK_LEASE_MS: '3000',
      HTTP_PORT: String(http),
      INTERNAL_PORT: String(internal),
    };
    const start = () => runProgram('services/orchestrator/dist/main.js', [], env);
    services.push(createServiceProcess(start, `http://127.0.0.1:${http}`, 'listening'));
  }
  const gatewayPrograms = [CURRENT_GATEWAY, CURRENT_GATEWAY];
  for (let index = 0; index < 2; index += 1) {
    const port = await freePort();
    const env = {
      ...gatewayEnvironment({ internalPort: internalPorts[index]!, redis: busProxies[index]!.url, secrets }),
      GATEWAY_PORT: String(port),
    };
    const start = () => runProgram(gatewayPrograms[index]!, [], env);
    services.push(createServiceProcess(start, `http://127.0.0.1:${port}`, 'serving /socket.io/'));
  }
  for (const service of services) stack.defer(() => service.stop());
  for (const service of services) await service.start();
  const orchestrators = services.slice(0, 2);
  const gateways = services.slice(2);

  let previousGateway: PreviousProgram | undefined;
  stack.defer(() => previousGateway?.remove());
  async function replaceGateway(program: string): Promise<void> {
    gatewayPrograms[PREVIOUS_GATEWAY] = program;
    await gateways[PREVIOUS_GATEWAY]!.kill();
    await gateways[PREVIOUS_GATEWAY]!.start();
  }

  const owned = stack.move();

  /** Restarts of Valkey, one after another. While one runs, there can be no process. */
  let restarting = Promise.resolve();
  return {
    restUrls: orchestrators.map(({ url }) => url),
    socketUrls: gateways.map(({ url }) => url),
    orchestrators,
    gateways,
    busProxies,
    databaseProxy,
    postgres,
    modelCalls,
    async runPreviousGateway() {
      previousGateway ??= await buildPreviousProgram('realtime-gateway');
      await replaceGateway(previousGateway.main);
    },
    runCurrentGateways: () => replaceGateway(CURRENT_GATEWAY),
    restartValkey: () => (restarting = restarting.then(() => valkey.restart())),
    pauseValkey: () => void process.kill(valkey.pid, 'SIGSTOP'),
    resumeValkey: () => void process.kill(valkey.pid, 'SIGCONT'),
    signalRuntimes: (workspaceIds, signal) => signalRuntimes(signal, workspaceIds),
    async killRuntimes(workspaceIds) {
      await signalRuntimes('SIGKILL', workspaceIds);
      for (const orchestrator of orchestrators) orchestrator.killChildren();
    },
    async relayOf(workspaceId) {
      const { rows } = await pool.query<{ id: string }>(
        `SELECT (array_agg(id ORDER BY id))[(uuid_hash_extended($1::uuid, 0) & 63) % count(*) + 1] AS id
         FROM relays WHERE seen_at >= now() - interval '10 seconds'`,
        [workspaceId],
      );
      const [relay] = rows;
      return relay && orchestrators.find((service) => service.output().includes(relay.id));
    },
    newToken: () => issuer.issueToken({ email: `${randomUUID()}@example.com`, name: USER_NAME }),
    query: async (sql, values) => (await pool.query(sql, values)).rows as never,
    locks: createDatabaseLocks(pool),
    async heal() {
      signalIfAlive(valkey.pid, 'SIGCONT');
      await restarting;
      await postgres.settled();
      for (const proxy of busProxies) proxy.heal();
      databaseProxy.thaw();
      await databaseProxy.restore();
      for (const service of services) {
        service.resume();
        await service.start();
      }
      await sleep(0);
    },
    close: () => owned.disposeAsync(),
  };
}
