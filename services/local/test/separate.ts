import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEVELOPMENT_CLIENT_ID, freePort, type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { migrate } from '@uswarm/orchestrator/migrate';
import { createTestDatabase, orchestratorSchema } from '@uswarm/testkit';
import { generateCallKeys } from '@uswarm/service-kit';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { programFile } from '@uswarm/testkit/program-file';
import { byTier } from '@uswarm/testkit/tier';
import pg from 'pg';
import { createDatabaseLocks } from './database-locks.js';
import { killIfAlive, type RuntimeProcess, signalRuntime } from './processes.js';
import { type Program, runProgram } from './program.js';

export type Killed = 'the runtime' | 'the orchestrator' | 'both';
const EACH: readonly Killed[] = ['the runtime', 'the orchestrator'];
export const KILLED = byTier({ core: EACH, all: [...EACH, 'both'] });

export interface SeparateServices {
  restUrl: string;
  socketUrl: string;
  /** Internal API of the orchestrator that clients reach, and its service token key. */
  internal: { url: string; key: string };
  issuer: OidcIssuer;
  /** With a model gateway: its base URL and the key of its tokens. */
  modelGateway?: { url: string; tokenKey: string } | undefined;
  orchestrators: Program[];
  /** The running gateway. */
  gateway: Program;
  /** Base URLs for the operations ports of the first orchestrator and the gateway. */
  operations: { orchestrator: string; gateway: string };
  /** Between the orchestrators and Postgres. */
  databaseProxy: FaultInjectionProxy;
  /**
   * Starts another orchestrator on the same database. With `atTheSamePorts`, clients reach it in place of an ended one.
   */
  addOrchestrator(options?: { atTheSamePorts?: boolean }): Promise<Program>;
  /** Kills the gateway. @returns starts another one at the same port */
  killGateway(): Promise<() => Promise<void>>;
  runtimePid(workspaceId: string): Promise<number>;
  /** Kills the orchestrator that clients reach, the workspace's runtime, or both. */
  kill(killed: Killed, workspaceId: string): Promise<void>;
  /** Another orchestrator takes over, if one was killed. */
  recover(killed: Killed): Promise<void>;
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Blocks all statements that use the table. @returns ends it */
  lockTable(table: string): Promise<() => Promise<void>>;
  /** Blocks all statements that write the table. @returns ends it */
  lockWrites(table: string): Promise<() => Promise<void>>;
  /** Blocks all statements that change the workspace's agents, such as a turn's begin. @returns ends it */
  lockAgents(workspaceId: string): Promise<() => Promise<void>>;
  /** Blocks the owner's turns before they begin, and all usage changes. A choice needs neither. @returns ends it */
  lockUsage(workspaceId: string): Promise<() => Promise<void>>;
  /** Blocks all workspace events. @returns ends it */
  lockWorkspace(workspaceId: string): Promise<() => Promise<void>>;
  /** Resolves when a statement waits for a lock. */
  untilBlocked(): Promise<void>;
  /** @param options `keepDatabase`: its server ends too, or has ended */
  close(options?: { keepDatabase?: boolean }): Promise<void>;
}

const SCHEMA = orchestratorSchema(migrate);

const secret = (): string => randomBytes(32).toString('hex');

export async function listening(program: Program, message: string): Promise<Program> {
  await program.printed(new RegExp(message));
  return program;
}

const operationsOf = async (program: Program, pattern: RegExp): Promise<string> =>
  `http://127.0.0.1:${(await program.printed(pattern))[1]}`;

export type ServiceSecrets = Record<'internalKey' | 'cursorKey' | 'identityHashKey' | 'callPrivateKey', string>;

/** Secrets that the services of one installation share. */
export function createServiceSecrets(): ServiceSecrets {
  return {
    internalKey: `test:${secret()}`,
    cursorKey: secret(),
    identityHashKey: secret(),
    callPrivateKey: generateCallKeys().privateKey,
  };
}

/** Settings for an orchestrator that starts runtimes as processes; the ports are missing. */
export function orchestratorEnvironment({
  databaseUrl,
  issuer,
  redis,
  secrets,
}: {
  databaseUrl: string;
  issuer: OidcIssuer;
  redis: string;
  secrets: ServiceSecrets;
}): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    REALTIME_REDIS_URL: redis,
    OIDC_ISSUERS: JSON.stringify([{ issuer: issuer.issuer, audience: DEVELOPMENT_CLIENT_ID }]),
    SIGNATURE_MODE: 'off',
    INTERNAL_API_KEY: secrets.internalKey,
    CURSOR_KEY: secrets.cursorKey,
    IDENTITY_HASH_KEY: secrets.identityHashKey,
    CALL_PRIVATE_KEY: secrets.callPrivateKey,
    OBJECT_STORE: 'file',
    OBJECT_DIRECTORY: join(tmpdir(), 'uswarm-test-objects'),
    RUNTIME_DRIVER: 'process',
    RUNTIME_PROGRAM: programFile('services/agent-runtime/dist/main.js'),
    HTTP_HOST: '127.0.0.1',
    INTERNAL_HOST: '127.0.0.1',
    OPS_PORT: '0',
  };
}

/** Gateway settings; the port is missing. */
export function gatewayEnvironment({
  internalPort,
  redis,
  secrets,
  tracing = {},
}: {
  internalPort: number;
  redis: string;
  tracing?: Record<string, string>;
  secrets: Pick<ServiceSecrets, 'internalKey'>;
}): Record<string, string> {
  return {
    GATEWAY_HOST: '127.0.0.1',
    OPS_PORT: '0',
    INTERNAL_API_URL: `http://127.0.0.1:${internalPort}`,
    INTERNAL_API_KEY: secrets.internalKey,
    REALTIME_REDIS_URL: redis,
    ...tracing,
  };
}

/** @param env the model provider settings. @returns it, and the settings for orchestrators whose runtimes use it */
async function startModelGateway(env: Record<string, string>, internalUrl: string) {
  const port = await freePort();
  const keys = { MODEL_TOKEN_SIGNING_KEY: `test:${secret()}`, MODEL_CALLS_KEY: `test:${secret()}` };
  const program = runProgram('services/model-gateway/dist/main.js', [], {
    ...env,
    ...keys,
    INTERNAL_API_URL: internalUrl,
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: String(port),
    OPS_PORT: '0',
  });
  await listening(program, 'listening');
  return { program, settings: { MODEL_GATEWAY_URL: `http://127.0.0.1:${port}`, ...keys } };
}

export interface SeparateOptions {
  /** Default: the test run's Valkey. */
  redis?: string;
  /**
   * True if runtimes call the model with a model gateway. It uses the first orchestrator, and its replacements at the
   * same ports.
   */
  modelGateway?: boolean;
}

/** Orchestrator and gateway as separate processes, with the test run's Postgres. */
export async function startSeparateServices(
  env: Record<string, string> = {},
  options: SeparateOptions = {},
): Promise<SeparateServices> {
  const { redis = process.env['TEST_REDIS_URL'] ?? '' } = options;
  const database = await createTestDatabase(SCHEMA);
  const databaseProxy = await startFaultInjectionProxy(database.url);
  const issuer = await startOidcIssuer();
  const [restPort, internalPort, socketPort] = [await freePort(), await freePort(), await freePort()];
  const secrets = createServiceSecrets();
  const internalUrl = `http://127.0.0.1:${internalPort}`;
  const modelGateway = options.modelGateway === true ? await startModelGateway(env, internalUrl) : undefined;
  const orchestratorEnv = {
    ...orchestratorEnvironment({ databaseUrl: databaseProxy.redirect(database.url), issuer, redis, secrets }),
    ...env,
    ...modelGateway?.settings,
  };
  const runOrchestrator = (http: number, internal: number): Promise<Program> =>
    listening(
      runProgram('services/orchestrator/dist/main.js', [], {
        ...orchestratorEnv,
        HTTP_PORT: String(http),
        INTERNAL_PORT: String(internal),
      }),
      'listening',
    );
  const orchestrators = [await runOrchestrator(restPort, internalPort)];
  const tracing = Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('OTEL_')));
  const runGateway = () =>
    listening(
      runProgram('services/realtime-gateway/dist/main.js', [], {
        ...gatewayEnvironment({ internalPort, redis, secrets, tracing }),
        GATEWAY_PORT: String(socketPort),
      }),
      'serving /socket.io/',
    );
  const gateway = await runGateway();
  const operations = {
    orchestrator: await operationsOf(orchestrators[0]!, /"opsPort":(\d+)/),
    gateway: await operationsOf(gateway, /"ops_port":(\d+)/),
  };
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  // Dropping the database can end a connection before the pool has closed it.
  pool.on('error', () => undefined);

  const locks = createDatabaseLocks(pool);

  const services: SeparateServices = {
    restUrl: `http://127.0.0.1:${restPort}`,
    socketUrl: `http://127.0.0.1:${socketPort}`,
    internal: { url: internalUrl, key: secrets.internalKey },
    issuer,
    modelGateway: modelGateway && {
      url: modelGateway.settings.MODEL_GATEWAY_URL,
      tokenKey: modelGateway.settings.MODEL_TOKEN_SIGNING_KEY,
    },
    orchestrators,
    gateway,
    operations,
    databaseProxy,
    async addOrchestrator({ atTheSamePorts = false } = {}) {
      const program = await (atTheSamePorts ? runOrchestrator(restPort, internalPort) : runOrchestrator(0, 0));
      orchestrators.push(program);
      return program;
    },
    async killGateway() {
      await services.gateway.stop('SIGKILL');
      return async () => {
        services.gateway = await runGateway();
        operations.gateway = await operationsOf(services.gateway, /"ops_port":(\d+)/);
      };
    },
    async runtimePid(workspaceId) {
      const sql = 'SELECT pid FROM runtime_processes WHERE workspace_id = $1';
      const { rows } = await pool.query<{ pid: number }>(sql, [workspaceId]);
      return rows[0]!.pid;
    },
    async kill(killed, workspaceId) {
      if (killed !== 'the runtime') await orchestrators.at(-1)?.stop('SIGKILL');
      if (killed !== 'the orchestrator') killIfAlive(await services.runtimePid(workspaceId));
    },
    async recover(killed) {
      if (killed !== 'the runtime') await services.addOrchestrator({ atTheSamePorts: true });
    },
    query: async (sql, values) => (await pool.query(sql, values)).rows as never,
    lockTable: (table) => locks.lock(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`),
    lockWrites: (table) => locks.lock(`LOCK TABLE ${table} IN SHARE MODE`),
    lockAgents: (id) => locks.lock(`SELECT FROM agents WHERE workspace_id = '${id}' FOR NO KEY UPDATE`),
    lockUsage: (id) =>
      locks.lock(
        `SELECT pg_advisory_xact_lock(hashtextextended(owner_id::text, 4)) FROM workspaces WHERE id = '${id}'`,
      ),
    lockWorkspace: (id) => locks.lock(`SELECT FROM workspaces WHERE id = '${id}' FOR NO KEY UPDATE`),
    untilBlocked: () => locks.untilBlocked(),
    async close({ keepDatabase = false } = {}) {
      await locks.end();
      await services.gateway.stop();
      await modelGateway?.program.stop();
      await Promise.all(orchestrators.map((program) => program.stop()));
      if (!keepDatabase) {
        const { rows } = await pool.query<RuntimeProcess>('SELECT pid, workspace_id FROM runtime_processes');
        for (const row of rows) signalRuntime(row, 'SIGKILL');
      }
      await pool.end();
      await databaseProxy.close();
      await issuer.close();
      if (!keepDatabase) await database.drop();
    },
  };
  return services;
}
