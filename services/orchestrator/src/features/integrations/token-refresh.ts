import { backoffDelay, type Clock, type Logger } from '@uswarm/service-kit';
import type { WithTransaction } from '../../database/database.js';
import type { JobResult } from '../../jobs/job-worker.js';
import type { LeasedJob } from '../../jobs/job-store.js';
import type { IntegrationMetrics } from './integration-metrics.js';
import type { ConnectionRow, IntegrationStore } from './integrations.store.js';
import { type Grant, OAuthFailure } from './oauth-answer.js';
import type { OAuthClient } from './oauth-client.js';
import type { ProviderClients } from './provider-clients.js';
import { DecryptionError, type TokenCipher } from './token-cipher.js';
import { validityOf } from './token-validity.js';

/** Job type that renews the tokens of a connection before they expire. Its lease prevents concurrent renewals. */
export const REFRESH_JOB = 'integration-refresh';

export interface TokenRefreshDeps {
  withTransaction: WithTransaction;
  store: Pick<IntegrationStore, 'find' | 'renew' | 'dropIfSame'>;
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
/** Time after expiry when renewal attempts stop and the connection is deleted. */
const GIVEN_UP_AFTER_MS = 7 * 24 * 3_600_000;
const DONE: JobResult = { done: true };

export function createTokenRefresh(deps: TokenRefreshDeps) {
  const { withTransaction, store, clients, oauth, cipher, metrics, clock, logger } = deps;
  const until = (moment: Date): number => Math.max(0, moment.getTime() - clock.now().getTime());

  /** Deletes the connection, so that the user sees that a reconnect is required. */
  async function drop(row: ConnectionRow, reason: string): Promise<JobResult> {
    logger.info({ provider: row.provider, reason }, 'integration revoked by provider');
    await withTransaction((tx) => store.dropIfSame(row, tx));
    return DONE;
  }

  async function renewed(row: ConnectionRow, grant: Grant): Promise<JobResult> {
    const validity = validityOf(grant, clock.now());
    // Store new tokens even if the lease was lost: the provider may treat a reuse of the old ones as theft.
    metrics.refreshed(row.provider, 'renewed');
    const kept = await withTransaction((tx) => store.renew(row, { ...cipher.seal(grant, row), ...validity }, tx));
    return !kept || validity.refreshAt === null ? DONE : { againInMs: until(validity.refreshAt) };
  }

  async function failed(row: ConnectionRow, failure: OAuthFailure, failures: number): Promise<JobResult> {
    const { kind, reason } = failure;
    metrics.refreshed(row.provider, kind);
    if (kind === 'gone') return drop(row, reason);
    const ended = row.expiresAt === null ? 0 : clock.now().getTime() - row.expiresAt.getTime();
    if (ended > GIVEN_UP_AFTER_MS) return drop(row, reason);
    logger.warn({ provider: row.provider, reason }, 'renewing tokens failed; will retry');
    return { againInMs: kind === 'refused' ? STUCK_MS : backoffDelay(RETRY, failures) };
  }

  return async (job: LeasedJob): Promise<JobResult> => {
    const row = await store.find(job.subjectId);
    if (row === undefined || row.refreshAt === null) return DONE;
    // Another worker renewed the tokens but did not complete the job.
    if (row.refreshAt > clock.now()) return { againInMs: until(row.refreshAt) };
    const client = clients.get(row.provider);
    if (client === undefined) return { againInMs: STUCK_MS };
    try {
      const { refreshToken } = cipher.open(row, row);
      if (refreshToken === undefined) return DONE;
      return await renewed(row, await oauth.refresh(client, refreshToken));
    } catch (error) {
      if (error instanceof OAuthFailure) return failed(row, error, job.attempts - 1);
      if (!(error instanceof DecryptionError)) throw error;
      metrics.refreshed(row.provider, 'sealed');
      logger.error({ err: error, provider: row.provider }, 'tokens cannot be decrypted; is a key missing?');
      return { againInMs: STUCK_MS };
    }
  };
}
