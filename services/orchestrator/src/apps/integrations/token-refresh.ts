import { backoffDelay, type Clock, type Logger } from '@uswarm/service-kit';
import type { Transaction, WithTransaction, Database } from '../../platform/database/database.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import type { JobQueue, LeasedJob } from '../../platform/jobs/job-queue.js';
import type { IntegrationMetrics } from './integration-metrics.js';
import {
  type ConnectionRow,
  type Validity,
  lockIntegration,
  deleteIntegration,
  findIntegrationOf,
  renewIntegration,
  findIntegration,
} from '../../records/integrations.store.js';
import { type Grant, OAuthFailure } from './oauth-answer.js';
import type { OAuthClient } from './oauth-client.js';
import { missingPermissions } from './permissions.js';
import type { ProviderClient, ProviderClients } from './provider-clients.js';
import { DecryptionError, type TokenCipher } from './token-cipher.js';
import { revokeLater } from './token-revocation.js';
import { validityOf } from './token-validity.js';

/** Job type that renews a connection's tokens before they expire. Its lease prevents concurrent renewals. */
export const REFRESH_JOB = 'integration-refresh';

export interface TokenRefreshDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'enqueue'>;
  clients: ProviderClients;
  oauth: Pick<OAuthClient, 'refresh'>;
  cipher: TokenCipher;
  metrics: IntegrationMetrics;
  clock: Clock;
  logger: Logger;
}

const RETRY = { initialMs: 2_000, maxMs: 10 * 60_000 };
/** Retry interval for failures that only an operator can fix. */
const STUCK_MS = 3_600_000;
/** This long after the expiry, renewal attempts stop and the connection is deleted. */
const GIVEN_UP_AFTER_MS = 7 * 24 * 3_600_000;
/** Another process may have marked the access token as expired. */
const CLOCK_SKEW_MS = 60_000;
const DONE: JobResult = { done: true };

export function createTokenRefresh(deps: TokenRefreshDeps) {
  const { withTransaction, database, clients, oauth, cipher, metrics, clock, logger } = deps;
  const until = (moment: Date): number => Math.max(0, moment.getTime() - clock.now().getTime());

  const nextRenewal = ({ refreshAt }: Pick<Validity, 'refreshAt'>): JobResult =>
    refreshAt === null ? DONE : { againInMs: until(refreshAt) };

  /** False if another worker has renewed the tokens. Compares the token, because it may have been encrypted again. */
  const stillHas = (current: ConnectionRow, refreshToken: string): boolean =>
    cipher.open(current, current).refreshToken === refreshToken;

  /** Deletes the connection, so that the user sees that a reconnect is required. */
  async function drop(
    { id, provider }: ConnectionRow,
    refreshToken: string,
    reason: string,
    tx: Transaction,
  ): Promise<JobResult> {
    logger.info({ provider, reason }, 'integration revoked by provider');
    const current = await lockIntegration(tx, id);
    if (current === undefined) return DONE;
    if (!stillHas(current, refreshToken)) return nextRenewal(current);
    await deleteIntegration(tx, id);
    return DONE;
  }

  /** Disconnects an app whose new tokens permit less than its tools need, and revokes them. */
  function dropLimited(row: ConnectionRow, refreshToken: string, grant: Grant): Promise<JobResult> {
    metrics.refreshed(row.provider, 'gone');
    return withTransaction(async (tx) => {
      await revokeLater(deps, [{ ...row, ...cipher.seal(grant, row) }], tx);
      return drop(row, refreshToken, 'insufficient_scope', tx);
    });
  }

  /** Stores the new tokens even if the lease was lost: the provider may treat a reuse of the old ones as theft. */
  function renewed(row: ConnectionRow, refreshToken: string, grant: Grant): Promise<JobResult> {
    const { id, userId, provider } = row;
    const renewal = { ...cipher.seal(grant, row), ...validityOf(grant, clock.now()) };
    metrics.refreshed(provider, 'renewed');
    return withTransaction(async (tx) => {
      const current = await lockIntegration(tx, id);
      if (current === undefined) {
        // The user disconnected the app in the meantime, and only this process knows the new tokens.
        const isConnected = (await findIntegrationOf(tx, userId, provider)) !== undefined;
        if (!isConnected) await revokeLater(deps, [{ ...row, ...renewal }], tx);
        return DONE;
      }
      if (!stillHas(current, refreshToken)) return nextRenewal(current);
      await renewIntegration(tx, id, renewal);
      return nextRenewal(renewal);
    });
  }

  async function failed(
    row: ConnectionRow,
    refreshToken: string,
    { kind, reason, rejectsClient }: OAuthFailure,
    failures: number,
  ): Promise<JobResult> {
    const endedMs = row.expiresAt === null ? -Infinity : clock.now().getTime() - row.expiresAt.getTime();
    // The provider accepts neither token, although the client is registered correctly: only the user can do something.
    const isRefused = kind === 'refused' && !rejectsClient && endedMs > -CLOCK_SKEW_MS;
    // An alert tells operators about `refused`.
    metrics.refreshed(row.provider, isRefused ? 'gone' : kind);
    if (kind === 'gone' || isRefused || endedMs > GIVEN_UP_AFTER_MS)
      return withTransaction((tx) => drop(row, refreshToken, reason, tx));
    logger.warn({ provider: row.provider, reason }, 'renewing tokens failed; will retry');
    return { againInMs: kind === 'refused' ? STUCK_MS : backoffDelay(RETRY, failures) };
  }

  async function renew(row: ConnectionRow, client: ProviderClient, failures: number): Promise<JobResult> {
    const { refreshToken } = cipher.open(row, row);
    if (refreshToken === undefined) return DONE;
    let grant: Grant;
    try {
      grant = await oauth.refresh(client, refreshToken);
    } catch (error) {
      if (error instanceof OAuthFailure) return failed(row, refreshToken, error, failures);
      throw error;
    }
    const isLimited = missingPermissions(client, grant.scopes).length > 0;
    return isLimited ? dropLimited(row, refreshToken, grant) : renewed(row, refreshToken, grant);
  }

  return async (job: LeasedJob): Promise<JobResult> => {
    const row = await findIntegration(database, job.subjectId);
    if (row === undefined || row.refreshAt === null) return DONE;
    // Another worker renewed the tokens but did not complete the job.
    if (row.refreshAt > clock.now()) return { againInMs: until(row.refreshAt) };
    const client = await clients.find(row.provider);
    if (client === undefined) return { againInMs: STUCK_MS };
    try {
      return await renew(row, client, job.attempts - 1);
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      metrics.refreshed(row.provider, 'sealed');
      logger.error({ err: error, provider: row.provider }, 'tokens cannot be decrypted; is a key missing?');
      return { againInMs: STUCK_MS };
    }
  };
}
