import { createHash, randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { IntegrationProvider } from '@uswarm/contract';
import { loadConfig, Registry, silentLogger, systemClock } from '@uswarm/service-kit';
import type { OAuthServer } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { OrchestratorConfig } from '../../config.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import {
  CLIENT_SECRET,
  clientIdOf,
  integrationEnvironment,
  newTokenKey,
  redirectUrlOf,
  startProviderServer,
  tokensIn,
} from '../../../test/integrations.js';
import { allRows } from '../../../test/database-rows.js';
import { createStores, type Stores } from '../../../test/stores.js';
import { createMaintenanceWorkers } from '../../platform/jobs/maintenance-workers.js';
import type { LeasedJob } from '../../platform/jobs/job-queue.js';
import { createLeaseKeeper } from '../../platform/jobs/lease-keeper.js';
import { createIntegrationsModule, type IntegrationsModule } from './integrations.module.js';
import { TOKEN_REENCRYPTION_JOB } from './token-reencryption.js';
import { REFRESH_JOB } from './token-refresh.js';
import { findIntegrationOf, listConnectedApps } from '../../records/integrations.store.js';
import { deleteUser } from '../../records/users.store.js';

const HOUR_MS = 3_600_000;
const SETTINGS = OrchestratorConfig.pick({
  INTEGRATION_PROVIDERS: true,
  INTEGRATION_TOKEN_KEYS: true,
  CODE_RUNNER_ENABLED: true,
  SCHEDULES_ENABLED: true,
  USER_TOOL_SERVERS_PRIVATE_HOSTS: true,
});

describe('stored tokens', () => {
  let server: OAuthServer;
  let db: MigratedDatabase;
  let stores: Stores;
  let environment: Record<string, string>;
  let metrics: Registry;
  beforeAll(async () => {
    server = await startProviderServer();
    db = await createMigratedDatabase(20);
    stores = createStores(db.database);
  });
  beforeEach(async () => {
    environment = integrationEnvironment(server);
    await sql`TRUNCATE users, work, integrations, integration_revocations CASCADE`.execute(db.database);
  });
  afterAll(async () => {
    await db.close();
    await server.close();
  });
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    server.setUnavailable(false);
    for (const close of closers.splice(0)) await close();
  });

  /** Creates an integrations module as one replica would. */
  async function open(change: Record<string, string> = {}): Promise<IntegrationsModule> {
    metrics = new Registry();
    const integrations = await createIntegrationsModule({
      assets: { url: (url) => url },
      servers: { operators: [], of: async () => [], find: async () => undefined },
      serverItems: async () => [],
      stateSecret: 'k'.repeat(32),
      config: { ...loadConfig(SETTINGS, { ...environment, ...change }), proxy: DIRECT },
      connections: { ...db, jobs: stores.jobs },
      metrics,
      clock: systemClock,
      logger: silentLogger,
    });
    closers.push(integrations.close);
    return integrations;
  }
  const actorOf = (userId: string) => ({ userId, session: { source: null } });
  const counted = () => metrics.getSingleMetricAsString('uswarm_integration_refreshes_total');
  /** Runs the module's background jobs until the test ends. */
  const keep = ({ jobs }: IntegrationsModule): void => {
    const upkeep = createMaintenanceWorkers({
      store: stores.jobs,
      leases: createLeaseKeeper({ store: stores.jobs, logger: silentLogger }),
      logger: silentLogger,
      workers: 8,
      pollMs: 25,
      jobs,
    });
    closers.unshift(upkeep.close);
  };
  const tokenOf = ({ accessTokens }: IntegrationsModule, user: string) =>
    accessTokens(db.database).current(user, 'gmail');
  async function newUser(): Promise<string> {
    const id = crypto.randomUUID();
    await db.database.insertInto('users').values({ id, issuer: 'test', subject: id }).execute();
    return id;
  }
  async function connect(
    integrations: IntegrationsModule,
    userId: string,
    provider: IntegrationProvider = 'gmail',
    clientId = clientIdOf(provider),
  ): Promise<void> {
    const verifier = randomBytes(32).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const parameters = { prompt: 'consent', code_challenge: challenge, code_challenge_method: 'S256' };
    const scopes = ['openid', 'offline_access'];
    const code = await server.authorize({ clientId, redirectUrl: redirectUrlOf(provider), scopes, parameters });
    const body = { provider, authorization_code: code, code_verifier: verifier, redirect_url: redirectUrlOf(provider) };
    await integrations.routes.completeIntegration?.({ actor: actorOf(userId), body } as never);
  }
  const disconnect = (integrations: IntegrationsModule, userId: string, provider: string) =>
    integrations.routes.disconnectIntegration?.({ actor: actorOf(userId), params: { provider } } as never);
  async function makeDue(): Promise<void> {
    await sql`UPDATE integrations SET refresh_at = now()`.execute(db.database);
    await sql`UPDATE work SET run_at = now() WHERE kind = ${REFRESH_JOB}`.execute(db.database);
  }
  const rowsOf = async (table: 'integrations' | 'integration_revocations' | 'work') =>
    (await allRows(db.database))[table] ?? [];
  /** Waits for the background jobs to finish, at most until the timeout. @returns the remaining rows */
  const finalRowsOf = (table: Parameters<typeof rowsOf>[0]) =>
    eventually(() => rowsOf(table), { until: (rows) => rows.length === 0 });

  it('are renewed before they expire, and the next renewal is scheduled', async () => {
    const [integrations, userId] = [await open(), await newUser()];
    await connect(integrations, userId);
    const before = await tokenOf(integrations, userId);
    await makeDue();
    keep(integrations);
    const after = await eventually(() => tokenOf(integrations, userId), { until: (token) => token !== before });
    expect(after).not.toBe(before);
    expect(await server.accepts(after)).toBe(true);
    expect(await counted()).toContain('{provider="gmail",outcome="renewed"} 1\n');
    const released = () =>
      db.database
        .selectFrom('work')
        .select('run_at')
        .where('kind', '=', REFRESH_JOB)
        .where('lease_id', 'is', null)
        .execute();
    const [next] = await eventually(released, {
      until: (rows) => rows.length === 1 && (rows[0]?.run_at.getTime() ?? 0) > Date.now(),
    });
    expect(Math.round(((next?.run_at.getTime() ?? 0) - Date.now()) / 60_000)).toBe(55);
  });

  it('are renewed once each, regardless of the number of replicas', async () => {
    const replicas = [await open(), await open(), await open()] as const;
    const users = await Promise.all(Array.from({ length: 15 }, newUser));
    for (const userId of users) await connect(replicas[0], userId);
    const { refreshes } = server.counts;
    const before = await Promise.all(users.map((userId) => tokenOf(replicas[0], userId)));
    await makeDue();
    for (const replica of replicas) keep(replica);
    const tokens = () => Promise.all(users.map((userId) => tokenOf(replicas[0], userId)));
    const after = await eventually(tokens, { until: (now) => now.every((token, index) => token !== before[index]) });
    // If a refresh token had been used twice, the server would have revoked all tokens.
    expect(await Promise.all(after.map((token) => server.accepts(token)))).toEqual(users.map(() => true));
    expect(server.counts.refreshes - refreshes).toBe(users.length);
  });

  it('are not renewed twice when another replica takes over the job after a crash', async () => {
    const [integrations, userId] = [await open(), await newUser()];
    await connect(integrations, userId);
    await makeDue();
    const { refreshes } = server.counts;
    const handle = integrations.jobs.find(({ type }) => type === REFRESH_JOB)?.handle;
    const run = async () => {
      const [work] = await stores.jobs.claim(REFRESH_JOB, 1, HOUR_MS);
      if (work === undefined || handle === undefined) throw new Error('there is no work');
      const result = await handle(work, new AbortController().signal);
      await sql`UPDATE work SET lease_expires_at = now() - interval '1 second'`.execute(db.database);
      return result;
    };
    const [first, second] = [await run(), await run()];
    expect(server.counts.refreshes - refreshes).toBe(1);
    expect({ first: Object.keys(first), second: Object.keys(second) }).toEqual({
      first: ['againInMs'],
      second: ['againInMs'],
    });
  });

  it('are renewed by a retry after the provider was unavailable', async () => {
    const [integrations, userId] = [await open(), await newUser()];
    await connect(integrations, userId);
    const before = await tokenOf(integrations, userId);
    server.setUnavailable(true);
    await makeDue();
    keep(integrations);
    const tried = () =>
      db.database
        .selectFrom('work')
        .select('run_at')
        .where('kind', '=', REFRESH_JOB)
        .where('attempts', '>', 0)
        .where('lease_id', 'is', null)
        .execute();
    expect(await eventually(tried, { until: (rows) => rows.length === 1 })).toHaveLength(1);
    expect(await counted()).toMatch(/\{provider="gmail",outcome="unavailable"\} [1-9]/);
    server.setUnavailable(false);
    const after = await eventually(() => tokenOf(integrations, userId), { until: (token) => token !== before });
    expect(await server.accepts(after)).toBe(true);
  });

  it('are deleted if the provider revoked them, and the app is shown as not connected', async () => {
    const [integrations, userId] = [await open(), await newUser()];
    await connect(integrations, userId);
    const { refreshToken = '' } = tokensIn(await findIntegrationOf(stores.database, userId, 'gmail'), environment);
    const fields = { client_id: 'client-gmail', client_secret: CLIENT_SECRET, token: refreshToken };
    await fetch(server.revocationEndpoint, { method: 'POST', body: new URLSearchParams(fields) });
    await makeDue();
    keep(integrations);
    const connected = () => listConnectedApps(stores.database, userId);
    expect(await eventually(connected, { until: (providers) => providers.length === 0 })).toEqual([]);
    expect(await counted()).toContain('{provider="gmail",outcome="gone"} 1\n');
    await expect(tokenOf(integrations, userId)).rejects.toMatchObject({ code: 'integration_not_found' });
  });

  it('are not returned after they expired without a renewal', async () => {
    const [integrations, userId] = [await open(), await newUser()];
    await connect(integrations, userId);
    await sql`UPDATE integrations SET expires_at = now() - interval '1 minute'`.execute(db.database);
    await expect(tokenOf(integrations, userId)).rejects.toMatchObject({ code: 'integration_unavailable' });
  });

  it('are those of an app that is not connected after they expired without a refresh token', async () => {
    const [integrations, userId] = [await open(), await newUser()];
    await connect(integrations, userId);
    await sql`UPDATE integrations SET expires_at = now(), refresh_at = NULL`.execute(db.database);
    await expect(tokenOf(integrations, userId)).rejects.toMatchObject({ code: 'integration_not_found' });
  });

  it('are revoked at the provider and then deleted when the user disconnects', async () => {
    const [integrations, userId] = [await open(), await newUser()];
    await connect(integrations, userId);
    const token = await tokenOf(integrations, userId);
    await disconnect(integrations, userId, 'gmail');
    expect({
      integrations: await rowsOf('integrations'),
      revocations: (await rowsOf('integration_revocations')).length,
    }).toEqual({ integrations: [], revocations: 1 });
    keep(integrations);
    expect(await finalRowsOf('integration_revocations')).toEqual([]);
    expect(await server.accepts(token)).toBe(false);
    const jobs = async () => (await rowsOf('work')).filter((row) => !row.includes(TOKEN_REENCRYPTION_JOB));
    expect(await eventually(jobs, { until: (rows) => rows.length === 0 })).toEqual([]);
  });

  it('are revoked after an account deletion even if the provider was unavailable, and no data of the user remains', async () => {
    const [integrations, userId, staying] = [await open(), await newUser(), await newUser()];
    for (const provider of ['gmail', 'google_calendar'] as const) await connect(integrations, userId, provider);
    await connect(integrations, staying);
    const tokens = [
      await tokenOf(integrations, userId),
      await integrations.accessTokens(db.database).current(userId, 'google_calendar'),
    ];
    server.setUnavailable(true);
    await db.withTransaction(async (tx) => {
      await integrations.service.revokeAll(userId, tx);
      await deleteUser(tx, userId);
    });
    keep(integrations);
    const tried = () =>
      db.database
        .selectFrom('work')
        .select('kind')
        .where('kind', '=', 'integration-revocation')
        .where('attempts', '>', 0)
        .where('lease_id', 'is', null)
        .execute();
    expect(await eventually(tried, { until: (rows) => rows.length === 2 })).toHaveLength(2);
    server.setUnavailable(false);
    const left = () =>
      allRows(db.database).then((stored) =>
        Object.values(stored)
          .flat()
          .filter((row) => row.includes(userId)),
      );
    expect(await eventually(left, { until: (rows) => rows.length === 0 })).toEqual([]);
    expect(await Promise.all(tokens.map((token) => server.accepts(token)))).toEqual([false, false]);
    expect(await server.accepts(await tokenOf(integrations, staying))).toBe(true);
  });

  it('remain if the account deletion is rolled back', async () => {
    const [integrations, userId] = [await open(), await newUser()];
    await connect(integrations, userId);
    const rolledBack = db.withTransaction(async (tx) => {
      await integrations.service.revokeAll(userId, tx);
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    expect({
      connected: await listConnectedApps(stores.database, userId),
      revocations: await rowsOf('integration_revocations'),
    }).toEqual({ connected: ['gmail'], revocations: [] });
  });

  it('are deleted immediately if the provider has no revocation endpoint', async () => {
    environment = integrationEnvironment(server, { revocation_endpoint: null });
    const [integrations, userId] = [await open(), await newUser()];
    await connect(integrations, userId);
    await disconnect(integrations, userId, 'gmail');
    expect({
      integrations: await rowsOf('integrations'),
      revocations: await rowsOf('integration_revocations'),
    }).toEqual({ integrations: [], revocations: [] });
  });

  it('are not revoked while another app with the same client is connected, because that would disconnect it', async () => {
    const clientId = clientIdOf('gmail');
    environment = integrationEnvironment(server, { client_id: clientId });
    const [integrations, userId] = [await open(), await newUser()];
    for (const provider of ['gmail', 'google_calendar'] as const)
      await connect(integrations, userId, provider, clientId);
    const { revocations } = server.counts;
    await disconnect(integrations, userId, 'gmail');
    keep(integrations);
    expect(await finalRowsOf('integration_revocations')).toEqual([]);
    expect(server.counts.revocations).toBe(revocations);
    await disconnect(integrations, userId, 'google_calendar');
    expect(await eventually(() => server.counts.revocations, { until: (count) => count > revocations })).toBe(
      revocations + 1,
    );
  });

  describe('during a key rotation', () => {
    const [older, newer] = [newTokenKey('older'), newTokenKey('newer')];

    it('are encrypted again with the first key, including tokens to revoke, and the older key can be removed', async () => {
      const before = await open({ INTEGRATION_TOKEN_KEYS: older });
      const users = await Promise.all(Array.from({ length: 5 }, newUser));
      for (const userId of users) await connect(before, userId);
      const [leaving = '', staying = ''] = users;
      const token = await tokenOf(before, staying);
      await disconnect(before, leaving, 'gmail');
      keep({
        ...(await open({ INTEGRATION_TOKEN_KEYS: `${newer},${older}` })),
        jobs: await reencryptionOnly(`${newer},${older}`),
      });
      expect(await eventually(keys, { until: (ids) => ids.every((id) => id === 'newer') })).toEqual(
        users.map(() => 'newer'),
      );
      const after = await open({ INTEGRATION_TOKEN_KEYS: newer });
      expect(await tokenOf(after, staying)).toBe(token);
    });

    it('are encrypted with the first key of the newest replica although an older one handles the job first', async () => {
      const before = await open({ INTEGRATION_TOKEN_KEYS: `${older},${newer}` });
      await connect(before, await newUser());
      await sql`TRUNCATE work`.execute(db.database);
      const after = await reencryptionOnly(`${newer},${older}`);
      const claimed = await stores.jobs.claim(TOKEN_REENCRYPTION_JOB, 8, HOUR_MS);
      for (const job of claimed) await handleAs(before.jobs, job);
      keep({ ...before, jobs: after });
      expect(await eventually(keys, { until: (ids) => ids.every((id) => id === 'newer') })).toEqual(['newer']);
    });

    it('can be decrypted by replicas that know both keys while others still encrypt with the older key', async () => {
      const [old, both] = [
        await open({ INTEGRATION_TOKEN_KEYS: older }),
        await open({ INTEGRATION_TOKEN_KEYS: `${newer},${older}` }),
      ];
      const userId = await newUser();
      await connect(old, userId);
      expect(await server.accepts(await tokenOf(both, userId))).toBe(true);
    });

    const reencryptionOnly = async (keys: string): Promise<IntegrationsModule['jobs']> => {
      const { jobs } = await open({ INTEGRATION_TOKEN_KEYS: keys });
      return jobs.filter(({ type }) => type === TOKEN_REENCRYPTION_JOB);
    };
    /** Handles a job as a replica's worker would; it is due again immediately. */
    const handleAs = async (jobs: IntegrationsModule['jobs'], job: LeasedJob): Promise<void> => {
      const definition = jobs.find(({ type }) => type === TOKEN_REENCRYPTION_JOB);
      const result = await definition?.handle(job, new AbortController().signal);
      await (result !== undefined && 'done' in result ? stores.jobs.complete(job) : stores.jobs.release(job, 0));
    };
    const keys = async () =>
      [...(await rowsOf('integrations')), ...(await rowsOf('integration_revocations'))].map(
        (row) => (JSON.parse(row) as { key_id: string }).key_id,
      );
  });
});
