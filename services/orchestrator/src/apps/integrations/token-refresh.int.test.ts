import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry, silentLogger, systemClock } from '@uswarm/service-kit';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { createStores, type Stores } from '../../../test/stores.js';
import { createIntegrationMetrics } from './integration-metrics.js';
import {
  type ConnectionRow,
  insertIntegration,
  resealTokens,
  findIntegration,
  listSealedOtherwise,
  dropIntegrations,
} from '../../records/integrations.store.js';
import { type Grant, OAuthFailure } from './oauth-answer.js';
import { createProviderClients, IntegrationProviders } from './provider-clients.js';
import { createTokenCipher } from './token-cipher.js';
import { createTokenRefresh, REFRESH_JOB } from './token-refresh.js';

const OLD = { accessToken: 'old access', refreshToken: 'old refresh' };
const NEW: Grant = { accessToken: 'new access', refreshToken: 'new refresh', expiresInS: 3_600 };
const HOUR_MS = 3_600_000;

describe('a renewal of tokens', () => {
  let db: MigratedDatabase;
  let stores: Stores;
  beforeAll(async () => {
    db = await createMigratedDatabase();
    stores = createStores(db.database);
  });
  beforeEach(async () => {
    await sql`TRUNCATE users, work, integrations, integration_revocations CASCADE`.execute(db.database);
  });
  afterAll(async () => db.close());

  const cipher = createTokenCipher([{ id: 'first', key: randomBytes(32) }]);
  const settings = { client_id: 'client', redirect_urls: ['https://app.example.com/callback'] };
  const clients = createProviderClients(IntegrationProviders.parse({ gmail: settings }));

  async function connect(tokens = OLD, userId: string = randomUUID()): Promise<ConnectionRow> {
    const owner = { userId, provider: 'gmail' } as const;
    const validity = { expiresAt: new Date(Date.now() + 60_000), refreshAt: new Date(Date.now() - 1_000) };
    const row = { id: randomUUID(), ...owner, ...cipher.seal(tokens, owner), ...validity };
    await db.database
      .insertInto('users')
      .values({ id: userId, issuer: 'test', subject: userId })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await insertIntegration(db.database, { ...row, codeHash: randomBytes(32) });
    return row;
  }

  /** Runs a connection's job. `answer` runs until the provider answers, and returns its answer. */
  async function renew({ id }: ConnectionRow, answer: () => Promise<Grant>) {
    const refresh = createTokenRefresh({
      withTransaction: db.withTransaction,
      database: stores.database,
      jobs: stores.jobs,
      clients: { find: async (name) => clients.get(name) },
      oauth: { refresh: answer },
      cipher,
      metrics: createIntegrationMetrics(new Registry()),
      clock: systemClock,
      logger: silentLogger,
    });
    await db.withTransaction((tx) => stores.jobs.enqueue({ kind: REFRESH_JOB, subjectId: id, workspaceId: id }, tx));
    const [job] = await stores.jobs.claim(REFRESH_JOB, 1, HOUR_MS);
    if (job === undefined) throw new Error('the job does not exist');
    return refresh(job);
  }

  /** Encrypts the tokens again, as a key rotation does. */
  const reencrypt = (row: ConnectionRow) =>
    resealTokens(stores.database, 'integrations', row, cipher.seal(cipher.open(row, row), row));
  const stored = async ({ id }: ConnectionRow) => {
    const row = await findIntegration(stores.database, id);
    return row && cipher.open(row, row);
  };
  const toRevoke = async () => {
    const rows = await listSealedOtherwise(
      stores.database,
      'integration_revocations',
      'none',
      '00000000-0000-0000-0000-000000000000',
      10,
    );
    return rows.map((row) => cipher.open(row, row).refreshToken);
  };

  it('is stored although the old tokens were encrypted again in the meantime', async () => {
    const row = await connect();
    const result = await renew(row, async () => {
      await reencrypt(row);
      return NEW;
    });
    expect(await stored(row)).toEqual({ accessToken: NEW.accessToken, refreshToken: NEW.refreshToken });
    expect(result).toEqual({ againInMs: expect.any(Number) });
  });

  it('deletes a revoked connection although its tokens were encrypted again in the meantime', async () => {
    const row = await connect();
    await renew(row, async () => {
      await reencrypt(row);
      throw new OAuthFailure('gone', 'invalid_grant');
    });
    expect(await stored(row)).toBeUndefined();
  });

  it('does not replace the tokens of a faster worker, and is scheduled again', async () => {
    const row = await connect();
    const faster = { accessToken: 'access of the other', refreshToken: 'refresh of the other' };
    const refreshAt = new Date(Date.now() + HOUR_MS);
    const result = await renew(row, async () => {
      const renewal = { ...cipher.seal(faster, row), expiresAt: refreshAt, refreshAt };
      await sql`UPDATE integrations SET tokens = ${renewal.sealed}, expires_at = ${refreshAt}, refresh_at = ${refreshAt}
        WHERE id = ${row.id}`.execute(db.database);
      return NEW;
    });
    expect(await stored(row)).toEqual(faster);
    expect(result).toEqual({ againInMs: expect.any(Number) });
  });

  it('revokes the new tokens if the user disconnects the app in the meantime', async () => {
    const row = await connect();
    await renew(row, async () => {
      await dropIntegrations(db.database, row.userId, 'gmail');
      return NEW;
    });
    expect(await toRevoke()).toEqual([NEW.refreshToken]);
    expect(await stores.jobs.claim('integration-revocation', 1, HOUR_MS)).toHaveLength(1);
  });

  it('revokes nothing if the user connects the app again in the meantime', async () => {
    const row = await connect();
    await renew(row, async () => {
      await dropIntegrations(db.database, row.userId, 'gmail');
      await connect({ accessToken: 'another access', refreshToken: 'another refresh' }, row.userId);
      return NEW;
    });
    expect(await toRevoke()).toEqual([]);
  });
});
