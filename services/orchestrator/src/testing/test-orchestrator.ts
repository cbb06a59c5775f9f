import { randomBytes, randomUUID } from 'node:crypto';
import type { OperationId } from '@uswarm/contract';
import { createMemoryBus, type EventBus } from '@uswarm/event-bus';
import { createMetrics, generateCallKeys, listen, loadConfig, silentLogger } from '@uswarm/service-kit';
import { createTestDatabase, type OidcIssuer, startOidcIssuer, DEVELOPMENT_CLIENT_ID } from '@uswarm/testkit';
import { OrchestratorConfig } from '../config.js';
import { type Database, openDatabase } from '../database/database.js';
import { migrate } from '../database/migrate.js';
import { createEndToEndBypass } from '../features/auth/e2e-bypass.js';
import type { Handlers } from '../http/handlers.js';
import { createOrchestrator } from '../orchestrator.js';
import { createApiClient, type ApiClient } from './api-client.js';

export const SIGNATURE_SECRET = 'signature-secret-of-the-tests';
export const E2E_TOKEN = 'end-to-end-token-of-the-tests-0123456789';

export interface TestOrchestratorOptions {
  /** Settings that differ from those of the tests. */
  environment?: Record<string, string>;
  /** Turns the end-to-end bypass on. */
  bypass?: boolean;
}

export interface TestOrchestrator {
  url: string;
  internalUrl: string;
  internalKey: string;
  issuer: OidcIssuer;
  bus: EventBus;
  database: Database;
  /** A client without credentials. */
  anonymous: ApiClient;
  /** A new identity of the issuer that has not signed up. */
  stranger(): Promise<ApiClient & { email: string; token: string }>;
  /** A new user with a first workspace. */
  user(): Promise<ApiClient & { email: string; token: string }>;
  close(): Promise<void>;
}

const secret = (): string => randomBytes(32).toString('hex');

/** An empty 501 in place of one route: what the mutation check has to notice. */
function mutate(handlers: Handlers): Handlers {
  const operation = process.env['USWARM_MUTATE_ROUTE'] as OperationId | undefined;
  return operation === undefined ? handlers : { ...handlers, [operation]: async () => ({ status: 501 }) };
}

/**
 * The orchestrator with a database of its own on the real Postgres, and a real OIDC issuer. Every
 * answer that its clients see is checked against the contract.
 */
export async function startTestOrchestrator(options: TestOrchestratorOptions = {}): Promise<TestOrchestrator> {
  const testDatabase = await createTestDatabase();
  const issuer = await startOidcIssuer();
  const internalKey = `test:${secret()}`;
  const environment = {
    DATABASE_URL: testDatabase.url,
    OIDC_ISSUERS: JSON.stringify([{ id: 'test', issuer: issuer.issuer, audience: DEVELOPMENT_CLIENT_ID }]),
    OIDC_JWKS_COOLDOWN_MS: '0',
    SIGNATURE_MODE: 'off',
    INTERNAL_API_KEY: internalKey,
    CURSOR_KEY: secret(),
    IDENTITY_HASH_KEY: secret(),
    CALL_PRIVATE_KEY: generateCallKeys().privateKey,
    RUNTIME_DRIVER: 'process',
    // Most tests of the API want no answers; those that do turn workers on.
    TURN_WORKERS: '0',
    ...options.environment,
  };
  const config = loadConfig(OrchestratorConfig, environment);
  await migrate(config.DATABASE_URL, silentLogger);
  const bus = createMemoryBus({ logger: silentLogger });
  const orchestrator = createOrchestrator({
    config,
    bus,
    logger: silentLogger,
    metrics: createMetrics('orchestrator'),
    version: '0.0.0-test',
    environment,
    changeHandlers: mutate,
    ...(options.bypass === true ? { bypass: createEndToEndBypass(E2E_TOKEN) } : {}),
  });
  const http = await listen(orchestrator.app, { host: '127.0.0.1', port: 0 });
  const internal = await listen(orchestrator.internalApp, { host: '127.0.0.1', port: 0 });
  const database = openDatabase({ url: testDatabase.url, maxConnections: 2 });

  async function stranger() {
    const email = `${randomUUID()}@example.com`;
    const token = await issuer.issueToken({ email, name: 'Ada Lovelace' });
    return { ...createApiClient(http.url, { 'x-token': token }), email, token };
  }

  return {
    url: http.url,
    internalUrl: internal.url,
    internalKey,
    issuer,
    bus,
    database,
    anonymous: createApiClient(http.url, {}),
    stranger,
    async user() {
      const client = await stranger();
      await client.post('/v1/auth/sign-up', undefined, 204);
      return client;
    },
    async close() {
      await Promise.all([http.close(), internal.close()]);
      await orchestrator.stopRuntimes();
      await orchestrator.close();
      await database.destroy();
      await bus.close();
      await issuer.close();
      await testDatabase.drop();
    },
  };
}
