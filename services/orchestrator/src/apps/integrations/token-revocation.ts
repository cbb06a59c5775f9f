import { randomUUIDv7 } from 'node:crypto';
import { backoffDelay, type Logger } from '@uswarm/service-kit';
import type { Transaction, WithTransaction, Database } from '../../platform/database/database.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import type { LeasedJob, JobQueue } from '../../platform/jobs/job-queue.js';
import {
  type RevocationRow,
  type SealedRow,
  insertRevocation,
  listConnectedApps,
  findRevocation,
  deleteRevocation,
} from '../../records/integrations.store.js';
import { deleteUnusedClient } from '../../records/tool-server-clients.store.js';
import { serverOfKey } from '../tool-servers/server-accounts.js';
import { OAuthFailure } from './oauth-answer.js';
import type { OAuthClient } from './oauth-client.js';
import type { ProviderClient, ProviderClients } from './provider-clients.js';
import { DecryptionError, type TokenCipher } from './token-cipher.js';

/** Job type that revokes unused tokens at their provider. */
export const REVOCATION_JOB = 'integration-revocation';

export interface RevokeLaterDeps {
  jobs: Pick<JobQueue, 'enqueue'>;
  clients: ProviderClients;
}

/** Skips providers that do not support revocation. */
export async function revokeLater(
  { jobs, clients }: RevokeLaterDeps,
  rows: readonly SealedRow[],
  tx: Transaction,
): Promise<void> {
  for (const row of rows) {
    if ((await clients.find(row.provider))?.revocationEndpoint === undefined) continue;
    const id = randomUUIDv7();
    await insertRevocation(tx, { ...row, id });
    await jobs.enqueue({ kind: REVOCATION_JOB, subjectId: id, workspaceId: id }, tx);
  }
}

export interface TokenRevocationDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'complete'>;
  clients: ProviderClients;
  oauth: Pick<OAuthClient, 'revoke'>;
  cipher: TokenCipher;
  logger: Logger;
}

const RETRY = { initialMs: 2_000, maxMs: 3_600_000 };
/** Revocation attempts stop after this time, so that deleted users' data is not kept longer. */
const GIVEN_UP_AFTER_MS = 7 * 24 * 3_600_000;

export function createTokenRevocation(deps: TokenRevocationDeps) {
  const { withTransaction, database, jobs, clients, oauth, cipher, logger } = deps;

  /** Revoking one token revokes the whole grant, and with it the user's newer connection. */
  async function stillInUse({ userId }: RevocationRow, client: ProviderClient): Promise<boolean> {
    const apps = await listConnectedApps(database, userId);
    const others = await Promise.all(apps.map((provider) => clients.find(provider)));
    return others.some((other) => other?.clientId === client.clientId && other.tokenEndpoint === client.tokenEndpoint);
  }

  /** @throws OAuthFailure if the revocation must be retried */
  async function revoke(row: RevocationRow): Promise<void> {
    const client = await clients.find(row.provider);
    if (client === undefined || (await stillInUse(row, client))) return;
    try {
      await oauth.revoke(client, cipher.open(row, row));
    } catch (error) {
      if (error instanceof DecryptionError)
        logger.error({ err: error, provider: row.provider }, 'tokens to revoke are lost');
      else if (error instanceof OAuthFailure && row.ageMs > GIVEN_UP_AFTER_MS) {
        const { reason } = error;
        logger.error(
          { provider: row.provider, reason },
          'a provider was never told of tokens that are not used any more',
        );
      } else throw error;
    }
  }

  return async (leased: LeasedJob): Promise<JobResult> => {
    const row = await findRevocation(database, leased.subjectId);
    if (row === undefined) return { done: true };
    try {
      await revoke(row);
    } catch (error) {
      if (!(error instanceof OAuthFailure)) throw error;
      const { reason } = error;
      logger.warn({ provider: row.provider, reason }, 'revoking tokens failed; will retry');
      return { againInMs: backoffDelay(RETRY, leased.attempts - 1) };
    }
    await withTransaction(async (tx) => {
      await deleteRevocation(tx, row.id);
      const server = serverOfKey(row.provider);
      if (server !== undefined) await deleteUnusedClient(tx, server);
      await jobs.complete(leased, tx);
    });
    return { done: true };
  };
}
