import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentSummary, type Conversation, LIMITS, type OperationId, type Workspace } from '@uswarm/contract';
import { createMemoryBus, type EventBus } from '@uswarm/event-bus';
import {
  type BodyRules,
  createLogger,
  createMetrics,
  generateCallKeys,
  listen,
  loadConfig,
  type Registry,
  silentLogger,
} from '@uswarm/service-kit';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { DEVELOPMENT_CLIENT_ID, type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { createTestDatabase } from '@uswarm/testkit';
import { programFile } from '@uswarm/testkit/program-file';
import { OrchestratorConfig } from '../src/config.js';
import { type Database, openDatabase } from '../src/platform/database/database.js';
import { createEndToEndBypass } from '../src/accounts/auth/e2e-bypass.js';
import type { Handlers } from '../src/platform/http/handlers.js';
import { handlersOf } from '../src/server/handlers.js';
import { createModules } from '../src/server/modules.js';
import { startOrchestrator } from '../src/server/orchestrator.js';
import { type ApiClient, createApiClient } from './api-client.js';
import { CONNECT_TIMEOUT_MS, SCHEMA } from './database.js';
import { type LogWatch, watchLogs } from './log-watch.js';

export const SIGNATURE_SECRET = 'signature-secret-of-the-tests';
export const E2E_TOKEN = 'end-to-end-token-of-the-tests-0123456789';

export interface TestOrchestratorOptions {
  environment?: Record<string, string>;
  bypass?: boolean;
  /** Rules for how fast request bodies must arrive. */
  bodies?: BodyRules;
  /** Receives the log lines, at level debug. */
  logTo?: string[];
  /** Returns the database URL for the orchestrator, such as a proxy's URL. */
  reachDatabaseBy?: (databaseUrl: string) => string;
}

/** An issuer's identity with a client that sends its token. */
export interface TestUser extends ApiClient {
  email: string;
  name: string;
  token: string;
}

/** The user's first workspace, which sign-up creates. */
export interface Home {
  workspaceId: string;
  /** `/v1/workspaces/<id>` */
  workspace: string;
  agents: AgentSummary[];
  conversationId: string;
  conversation: string;
  messages: string;
}

export interface TestOrchestrator {
  url: string;
  internalUrl: string;
  internalKey: string;
  modelCallsKey: string;
  issuer: OidcIssuer;
  bus: EventBus;
  database: Database;
  databaseUrl: string;
  /** Stored files are in this folder, unless the test overrides it. */
  objectDirectory: string;
  /** The log, at level debug. `close` fails if the log contains a planted text. */
  logs: LogWatch;
  metrics: Registry;
  anonymous: ApiClient;
  /** Has not signed up. */
  newIdentity(): Promise<TestUser>;
  /** Has signed up. */
  user(): Promise<TestUser>;
  idOf(user: Pick<TestUser, 'email'>): Promise<string>;
  home(user: ApiClient): Promise<Home>;
  close(): Promise<void>;
}

const IS_SECRET = /(KEY|KEYS|SECRET|TOKEN|PROVIDERS|DATABASE_URL)(_PREVIOUS)?$/;

const secret = (): string => randomBytes(32).toString('hex');

/** Replaces one route's handler by an empty 501 for the mutation check. */
function mutate(handlers: Handlers): Handlers {
  const operation = process.env['USWARM_MUTATE_ROUTE'] as OperationId | undefined;
  return operation === undefined ? handlers : { ...handlers, [operation]: async () => ({ status: 501 }) };
}

export function testEnvironment(databaseUrl: string, issuer: OidcIssuer): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    OIDC_ISSUERS: JSON.stringify([{ id: 'test', issuer: issuer.issuer, audience: DEVELOPMENT_CLIENT_ID }]),
    OIDC_JWKS_COOLDOWN_MS: '0',
    SIGNATURE_MODE: 'off',
    INTERNAL_API_KEY: `test:${secret()}`,
    MODEL_CALLS_KEY: `test:${secret()}`,
    CURSOR_KEY: secret(),
    IDENTITY_HASH_KEY: secret(),
    CALL_PRIVATE_KEY: generateCallKeys().privateKey,
    RUNTIME_DRIVER: 'process',
    RUNTIME_PROGRAM: programFile('services/agent-runtime/dist/main.js'),
    OBJECT_STORE: 'file',
    OBJECT_DIRECTORY: join(tmpdir(), 'uswarm-test-objects'),
    // Tests send requests faster than users do.
    RATE_IP_PER_S: '0',
    RATE_USER_PER_S: '0',
    RATE_SENDS_PER_S: '0',
    RATE_SEARCH_PER_S: '0',
    RATE_TRIGGERS_PER_S: '0',
    // Most API tests need neither turns nor runtimes; the others enable the workers.
    UPKEEP_WORKERS: '0',
    TURN_WORKERS: '0',
    SUMMARY_WORKERS: '0',
    RUNTIME_WORKERS: '0',
    USER_WEBHOOK_WORKERS: '0',
  };
}

/** @throws Error if the list is empty */
export function first<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (item === undefined) throw new Error('the list is empty');
  return item;
}

async function readHome(user: ApiClient): Promise<Home> {
  const workspaces = await user.get<{ data: Workspace[] }>('/v1/workspaces');
  const { id: workspaceId } = first(workspaces.body.data);
  const workspace = `/v1/workspaces/${workspaceId}`;
  const agents = await user.get<{ data: AgentSummary[] }>(`${workspace}/agents`);
  const conversations = await user.get<{ data: Conversation[] }>(`${workspace}/conversations`);
  const { id: conversationId } = first(conversations.body.data);
  const conversation = `${workspace}/conversations/${conversationId}`;
  const messages = `${conversation}/messages`;
  return { workspaceId, workspace, agents: agents.body.data, conversationId, conversation, messages };
}

/**
 * Starts an orchestrator with a separate database on a real Postgres, and a real OIDC issuer. The clients check every
 * response against the contract.
 */
export async function startTestOrchestrator(options: TestOrchestratorOptions = {}): Promise<TestOrchestrator> {
  const testDatabase = await createTestDatabase(SCHEMA);
  const issuer = await startOidcIssuer();
  // The serving role: a statement that needs more rights fails in every test.
  const databaseUrl = options.reachDatabaseBy?.(testDatabase.servingUrl) ?? testDatabase.servingUrl;
  const objects = await mkdtemp(join(tmpdir(), 'uswarm-test-objects-'));
  const settings: Record<string, string> = { ...testEnvironment(databaseUrl, issuer), OBJECT_DIRECTORY: objects };
  const environment = { ...settings, ...options.environment };
  const config = { ...loadConfig(OrchestratorConfig, environment), proxy: DIRECT };
  const bus = createMemoryBus({ logger: silentLogger });
  const logs = watchLogs(options.logTo);
  for (const [name, value] of Object.entries(environment)) if (IS_SECRET.test(name)) logs.plant(value);
  const metrics = createMetrics('orchestrator');
  const orchestratorOptions = {
    config,
    bus,
    logger: createLogger({ service: 'test', level: 'debug', destination: logs.destination }),
    metrics,
    version: '0.0.0-test',
    environment,
    ownsRuntimes: true,
    ...(options.bypass === true ? { bypass: createEndToEndBypass(E2E_TOKEN) } : {}),
  };
  const modules = await createModules(orchestratorOptions);
  const orchestrator = await startOrchestrator(orchestratorOptions, modules, mutate(handlersOf(modules)));
  const anywhere = { host: '127.0.0.1', port: 0, ...(options.bodies === undefined ? {} : { bodies: options.bodies }) };
  const http = await listen(orchestrator.app, { ...anywhere, requestTimeoutMs: LIMITS.requestMs });
  const internal = await listen(orchestrator.internalApp, anywhere);
  const database = openDatabase({ url: testDatabase.url, maxConnections: 4, connectDeadlineMs: CONNECT_TIMEOUT_MS });

  async function newIdentity(): Promise<TestUser> {
    const nonce = randomUUID();
    const email = `${nonce}@example.com`;
    const name = `Ada ${nonce.slice(0, 8)}`;
    const token = await issuer.issueToken({ email, name });
    logs.plant(token);
    return { ...createApiClient(http.url, { 'x-token': token }, logs.plantBody), email, name, token };
  }

  return {
    url: http.url,
    internalUrl: internal.url,
    internalKey: environment['INTERNAL_API_KEY'] ?? '',
    modelCallsKey: environment['MODEL_CALLS_KEY'] ?? '',
    issuer,
    bus,
    database,
    databaseUrl: testDatabase.url,
    objectDirectory: environment['OBJECT_DIRECTORY'] ?? objects,
    anonymous: createApiClient(http.url, {}, logs.plantBody),
    logs,
    metrics,
    newIdentity,
    async user() {
      const client = await newIdentity();
      await client.post('/v1/auth/sign-up', undefined, 204);
      return client;
    },
    async idOf({ email }) {
      const row = database.selectFrom('users').select('id').where('email', '=', email);
      return (await row.executeTakeFirstOrThrow()).id;
    },
    home: readHome,
    async close() {
      await Promise.all([http.close(), internal.close()]);
      await orchestrator.close();
      await database.destroy();
      await bus.close();
      await issuer.close();
      await testDatabase.drop();
      await rm(objects, { recursive: true });
      const leaks = logs.leaks();
      if (leaks.length > 0) throw new Error(`the log contains private texts:\n${leaks.join('')}`);
    },
  };
}
