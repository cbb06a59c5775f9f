import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePort, type RunningValkey } from '@uswarm/dev-servers';
import { createEpochs } from '@uswarm/orchestrator/epoch';
import { migrate } from '@uswarm/orchestrator/migrate';
import { type CloseStack, silentLogger } from '@uswarm/service-kit';
import pg from 'pg';
import { createSigner } from '../load/generate.js';
import { LONG_CONVERSATIONS } from '../settings.js';
import { orchestratorEnvironment } from '../world/environment.js';
import { program, startOrchestrator } from '../world/processes.js';
import { seed } from '../world/seed.js';
import { issueTokens, startServers } from '../world/world.js';
import type { ClientSpec } from './clients/commands.js';
import { type GatewayProcess, startGateway } from './gateway-process.js';
import { startStatementCounter, type StatementCounter } from './statement-counter.js';

export interface RealtimeWorldOptions {
  folder: string;
  users: number;
  /** Workspace events for the first users. */
  longEvents: number;
  workspacesPerUser: number;
}

/** An orchestrator without turns, and gateways. */
export interface RealtimeWorld {
  valkey: RunningValkey;
  client: pg.Client;
  /** The event log's epoch; a gateway delivers no events from other ones. */
  epoch(): string;
  /** Between the orchestrator and Postgres. */
  statements: StatementCounter;
  /** Closed with the stack. `redisUrl`: Valkey through a proxy. */
  startGateway(name: string, stack: CloseStack, redisUrl?: string): Promise<GatewayProcess>;
  /** A user's client with `workspaces` of the user's workspaces. */
  spec(url: string, user: number, workspaces: number): ClientSpec;
}

/** Gateways with many sockets from one address, whose garbage is collected on a signal. */
const GATEWAY_SETTINGS = { UNAUTHENTICATED_PER_ADDRESS: '0', SOCKETS_PER_USER: '0' };
const COLLECTED = ['--expose-gc', '--import', program('../realtime/collect-on-signal.js')];

const MORE_WORKSPACES = `
  WITH made AS (
    INSERT INTO workspaces (id, owner_id, name) SELECT gen_random_uuid(), id, 'Another'
    FROM users CROSS JOIN generate_series(1, $1::int) RETURNING id, owner_id
  )
  INSERT INTO runtimes (workspace_id, user_id, desired) SELECT id, owner_id, 'suspended' FROM made`;

const WORKSPACES = `
  SELECT substr(u.subject, 6)::int - 1 AS user, array_agg(w.id ORDER BY w.name DESC, w.id) AS ids
  FROM workspaces w JOIN users u ON u.id = w.owner_id GROUP BY u.id ORDER BY 1`;

/** All users' conversations with agents have a message each. */
const MESSAGES_PER_USER = 6;

export async function startRealtimeWorld(options: RealtimeWorldOptions, stack: CloseStack): Promise<RealtimeWorld> {
  const { folder, users, longEvents, workspacesPerUser } = options;
  const { postgres, valkey, issuer } = await startServers(folder, stack);
  const databaseUrl = await postgres.createDatabase('orchestrator');
  await migrate(databaseUrl, silentLogger);
  const messages = LONG_CONVERSATIONS * longEvents + users * MESSAGES_PER_USER - LONG_CONVERSATIONS;
  await seed(databaseUrl, { workspaces: users, conversation: longEvents, messages });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const epochs = createEpochs();
  epochs.onConnect(client);
  stack.defer('connection', () => client.end());
  await client.query(MORE_WORKSPACES, [workspacesPerUser - 1]);
  await client.query('VACUUM ANALYZE');
  const { rows } = await client.query<{ ids: string[] }>(WORKSPACES);

  const signatureSecret = randomBytes(24).toString('hex');
  const statements = await startStatementCounter(databaseUrl, stack);
  const internalPort = String(await freePort());
  const environment: Record<string, string> = {
    ...orchestratorEnvironment({
      databaseUrl: statements.url,
      redisUrl: valkey.url,
      issuer: issuer.issuer,
      signatureSecret,
      directory: join(folder, 'files'),
      pool: 20,
    }),
    INTERNAL_PORT: internalPort,
  };
  const orchestrator = await startOrchestrator(environment, join(folder, 'orchestrator.log'));
  stack.defer('orchestrator', orchestrator.close);
  const tokens = await issueTokens(issuer, users);
  const sign = createSigner(tokens, signatureSecret);
  const settings = {
    ...GATEWAY_SETTINGS,
    INTERNAL_API_URL: `http://127.0.0.1:${internalPort}`,
    INTERNAL_API_KEY: environment['INTERNAL_API_KEY'] ?? '',
  };
  return {
    valkey,
    client,
    epoch: epochs.current,
    statements,
    startGateway(name, gatewayStack, redisUrl = valkey.url) {
      const gateway = { ...settings, REALTIME_REDIS_URL: redisUrl };
      return startGateway(
        { environment: gateway, logFile: join(folder, `${name}.log`), args: COLLECTED },
        gatewayStack,
      );
    },
    spec(url, user, workspaces) {
      const { authorization: _, ...signed } = sign(user);
      const auth = { ...signed, 'x-token': tokens[user] ?? '' };
      return { kind: 'uswarm', url, auth, workspaceIds: rows[user]?.ids.slice(0, workspaces) ?? [] };
    },
  };
}
