import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  freePort,
  type ModelServer,
  type OidcIssuer,
  startModelServer,
  startOidcIssuer,
  startValkey,
  words,
} from '@uswarm/dev-servers';
import { createTestDatabase } from '@uswarm/testkit';
import { type BusProxy, startBusProxy } from '@uswarm/testkit/bus-proxy';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import pg from 'pg';
import { type Program, runProgram } from '../program.js';
import { modelSettings } from '../model-settings.js';
import {
  createServiceSecrets,
  gatewayEnvironment,
  killIfAlive,
  listening,
  orchestratorEnvironment,
  signalIfAlive,
} from '../separate.js';

/** A service that is started again at the same ports. */
export interface ServiceProcess {
  url: string;
  start(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  output(): string;
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
  model: ModelServer;
  restartValkey(): Promise<void>;
  pauseValkey(): void;
  resumeValkey(): void;
  /** Kills the runtimes of these workspaces, if they run. */
  killRuntimes(workspaceIds: readonly string[]): Promise<void>;
  newToken(): Promise<string>;
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Ends all faults; what was killed runs again. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

/** Models stream this many words, one every 30 ms. */
const ANSWER = Array.from({ length: 40 }, (_, index) => `word${index}`).join(' ');

function createProcess(start: () => Program, url: string, message: string): ServiceProcess & { stop(): Promise<void> } {
  let program: Program | undefined;
  /** Overlapping faults start a service only once: a second process would find its ports in use. */
  let starting: Promise<void> | undefined;
  const signal = (name: NodeJS.Signals): void => {
    if (program === undefined) return;
    try {
      process.kill(program.pid, name);
    } catch (cause) {
      throw new Error(`the service at ${url} has ended:\n${program.output().slice(-5_000)}`, { cause });
    }
  };
  return {
    url,
    async start() {
      if (program !== undefined) return;
      starting ??= listening(start(), message)
        .then((started) => void (program = started))
        .finally(() => (starting = undefined));
      await starting;
    },
    async kill() {
      await starting;
      const ending = program;
      program = undefined;
      await ending?.stop('SIGKILL');
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    output: () => program?.output() ?? '',
    async stop() {
      await program?.stop('SIGKILL');
    },
  };
}

/** @param random the source of chance of the bus */
export async function startRealtimeCluster(random: () => number): Promise<RealtimeCluster> {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'uswarm-realtime-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const valkey = await startValkey({ directory });
  stack.defer(() => valkey.close());
  const model = await startModelServer({
    script: () => words(ANSWER).flatMap((step) => [step, { delayMs: 30 }]),
  });
  stack.defer(() => model.close());
  const issuer: OidcIssuer = await startOidcIssuer();
  stack.defer(() => issuer.close());
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  const databaseProxy = await startFaultInjectionProxy(database.url);
  stack.defer(() => databaseProxy.close());
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
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

  const services: (ServiceProcess & { stop(): Promise<void> })[] = [];
  const internalPorts: number[] = [];
  for (let index = 0; index < 2; index += 1) {
    const [http, internal] = [await freePort(), await freePort()];
    internalPorts.push(internal);
    const env = {
      ...orchestratorEnvironment({
        databaseUrl: databaseProxy.redirect(database.url),
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
    services.push(createProcess(start, `http://127.0.0.1:${http}`, 'listening'));
  }
  for (let index = 0; index < 2; index += 1) {
    const port = await freePort();
    const env = {
      ...gatewayEnvironment({ internalPort: internalPorts[index]!, redis: busProxies[index]!.url, secrets }),
      GATEWAY_PORT: String(port),
    };
    const start = () => runProgram('services/realtime-gateway/dist/main.js', [], env);
    services.push(createProcess(start, `http://127.0.0.1:${port}`, 'serving /socket.io/'));
  }
  for (const service of services) stack.defer(() => service.stop());
  for (const service of services) await service.start();
  const orchestrators = services.slice(0, 2);
  const gateways = services.slice(2);

  const runtimesOf = async (workspaceIds?: readonly string[]): Promise<number[]> => {
    const { rows } = await pool.query<{ pid: number; workspace_id: string }>(
      'SELECT pid, workspace_id FROM runtime_processes',
    );
    return rows.filter((row) => workspaceIds?.includes(row.workspace_id) ?? true).map(({ pid }) => pid);
  };
  stack.defer(async () => {
    for (const pid of await runtimesOf()) killIfAlive(pid);
  });
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
    model,
    restartValkey: () => (restarting = restarting.then(() => valkey.restart())),
    pauseValkey: () => void process.kill(valkey.pid, 'SIGSTOP'),
    resumeValkey: () => void process.kill(valkey.pid, 'SIGCONT'),
    async killRuntimes(workspaceIds) {
      for (const pid of await runtimesOf(workspaceIds)) killIfAlive(pid);
    },
    newToken: () => issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' }),
    query: async (sql, values) => (await pool.query(sql, values)).rows as never,
    async heal() {
      signalIfAlive(valkey.pid, 'SIGCONT');
      await restarting;
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
