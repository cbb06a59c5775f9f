import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, type RunningValkey, startModelServer } from '@uswarm/dev-servers';
import { migrate } from '@uswarm/orchestrator/migrate';
import { type CloseStack, silentLogger } from '@uswarm/service-kit';
import pg from 'pg';
import { createSigner } from '../load/generate.js';
import { BenchError } from '../settings.js';
import { createObservations, monotonicMs, type Observations } from '../turns/observations.js';
import { createPlanScript } from '../turns/plan.js';
import { type BenchUser, signUp } from '../turns/users.js';
import { orchestratorEnvironment } from '../world/environment.js';
import { type Side, startOrchestrator } from '../world/processes.js';
import { startServers } from '../world/world.js';
import type { ClientSpec } from './clients/commands.js';
import { startGateway } from './gateway-process.js';
import { startStatementCounter, type StatementCounter } from './statement-counter.js';
import { redirect, startTapProxy, type Tap } from './tap-proxy.js';

export interface TurnClusterOptions {
  folder: string;
  /** Turn workers in the orchestrator that serves requests and starts runtimes. */
  turnWorkers: number;
  conversations: number;
  /** Between the orchestrator that serves requests and Valkey. */
  busTap?: () => Tap;
}

/** Orchestrators that run turns, a gateway, and a user with a runtime. */
export interface TurnCluster {
  valkey: RunningValkey;
  /** Starts another orchestrator, which only runs turns. */
  startWorker(): Promise<Side>;
  /** Between the orchestrator that serves requests and Postgres. */
  statements: StatementCounter;
  gatewayUrl: string;
  user: BenchUser;
  spec: ClientSpec;
  /** Seen by the model server. */
  observations: Observations;
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Waits until a message's turn has ended as completed. */
  completed(messageId: string): Promise<void>;
}

const WITHIN_MS = 90_000;

async function startModel(observations: Observations, stack: CloseStack): Promise<string> {
  const model = await startModelServer({
    script: createPlanScript(({ plan, results }) =>
      observations.add({ what: 'asked', at: monotonicMs(), turn: plan.id, results }),
    ),
  });
  stack.defer('model server', () => model.close());
  return model.baseUrl;
}

async function killRuntimes(query: TurnCluster['query']): Promise<void> {
  for (const { pid } of await query<{ pid: number }>('SELECT pid FROM runtime_processes')) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

async function waitFor(query: TurnCluster['query'], sql: string, values: unknown[], what: string): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  while ((await query(sql, values)).length === 0) {
    if (performance.now() > deadline) throw new BenchError(`${what} in time.`);
    await sleep(50);
  }
}

export async function startTurnCluster(options: TurnClusterOptions, stack: CloseStack): Promise<TurnCluster> {
  const { folder, turnWorkers, conversations, busTap = () => ({}) } = options;
  const observations = createObservations();
  const modelUrl = await startModel(observations, stack);
  const { postgres, valkey, issuer } = await startServers(folder, stack);
  const databaseUrl = await postgres.createDatabase('orchestrator');
  await migrate(databaseUrl, silentLogger);
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  stack.defer('connections', () => pool.end());
  const query: TurnCluster['query'] = async (sql, values) => (await pool.query(sql, values)).rows as never;
  // The runtimes outlive the orchestrators.
  stack.defer('runtimes', () => killRuntimes(query));
  const statements = await startStatementCounter(databaseUrl, stack);
  const busHost = await startTapProxy(() => valkey.url, busTap, stack);
  const signatureSecret = randomBytes(24).toString('hex');
  const internalPort = String(await freePort());
  const shared = orchestratorEnvironment({
    databaseUrl,
    redisUrl: valkey.url,
    issuer: issuer.issuer,
    signatureSecret,
    directory: join(folder, 'files'),
    pool: 20,
  });
  const turns = {
    TURNS_PER_USER: '20',
    IDLE_SUSPEND_AFTER_S: '0',
    SUMMARY_WORKERS: '0',
    OPENAI_BASE_URL: modelUrl,
    OPENAI_API_KEY: 'bench-key',
    OPENAI_MODEL: 'scripted',
  };
  let started = 0;
  const start = async (settings: Record<string, string>): Promise<Side> => {
    started += 1;
    const log = join(folder, `orchestrator-${started}.log`);
    const orchestrator = await startOrchestrator({ ...shared, ...turns, ...settings }, log);
    stack.defer('orchestrator', orchestrator.close);
    return orchestrator;
  };
  const front = await start({
    DATABASE_URL: statements.url,
    REALTIME_REDIS_URL: redirect(valkey.url, busHost),
    INTERNAL_PORT: internalPort,
    RUNTIME_WORKERS: '4',
    TURN_WORKERS: String(turnWorkers),
  });
  const gateway = await startGateway(
    {
      environment: {
        INTERNAL_API_URL: `http://127.0.0.1:${internalPort}`,
        INTERNAL_API_KEY: shared['INTERNAL_API_KEY'] ?? '',
        REALTIME_REDIS_URL: valkey.url,
      },
      logFile: join(folder, 'gateway.log'),
    },
    stack,
  );
  const token = await issuer.issueToken({ subject: 'user', email: 'user@example.com', name: 'Ada' });
  const sign = createSigner([token], signatureSecret);
  const user = await signUp(front.url, { token, headers: () => sign(0) }, conversations);
  await query(`UPDATE users SET plan_code = 'pro'`);
  await waitFor(
    query,
    `SELECT FROM runtimes WHERE phase = 'Ready' AND address IS NOT NULL`,
    [],
    'The runtime did not start',
  );
  const { authorization: _, ...signed } = sign(0);
  return {
    valkey,
    startWorker: () => start({ TURN_WORKERS: '4' }),
    statements,
    gatewayUrl: gateway.url,
    user,
    spec: { kind: 'uswarm', url: gateway.url, auth: { ...signed, 'x-token': token }, workspaceIds: [user.workspaceId] },
    observations,
    query,
    completed: (messageId) =>
      waitFor(
        query,
        `SELECT FROM turns WHERE user_message_id = $1 AND status = 'done'`,
        [messageId],
        'A turn was not completed',
      ),
  };
}
