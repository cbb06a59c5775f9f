import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '@uswarm/contract';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { WithTransaction, Database } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import {
  type ConnectionRow,
  lockIntegration,
  deleteIntegration,
  renewIntegration,
  findIntegration,
  findIntegrationOf,
} from '../../records/integrations.store.js';
import type { TokenCipher } from './token-cipher.js';
import { REFRESH_JOB } from './token-refresh.js';

export interface AccessTokens {
  /**
   * Returns the user's access token. A background job renews it before it expires.
   *
   * @throws ApiError `integration_not_found`, also if the token has expired and cannot be renewed;
   * `integration_unavailable`
   *   if it has expired and its renewal takes too long
   */
  current(userId: string, provider: string, signal?: AbortSignal): Promise<string>;
  /**
   * Replaces a token that the provider's API has rejected, usually because the user has revoked it there. Without a new
   * token the app is disconnected. Concurrent calls cause one renewal, by the background job.
   *
   * @throws ApiError `integration_not_found` if the app is disconnected; `integration_unavailable` if the renewal takes
   * too long
   */
  replacing(userId: string, provider: string, rejected: string, signal?: AbortSignal): Promise<string>;
}

export interface AccessTokensDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'enqueue'>;
  cipher: TokenCipher;
  clock: Clock;
  logger: Pick<Logger, 'info'>;
  /**
   * `pollMs` is the read interval while a renewal runs, `timeoutMs` the maximum wait after the expiry. Default: 100 ms
   * and 15 s.
   */
  waiting?: { pollMs: number; timeoutMs: number };
}

const WAITING = { pollMs: 100, timeoutMs: 15_000 };

export function createAccessTokens(deps: AccessTokensDeps): AccessTokens {
  const { withTransaction, database, jobs, cipher, clock, logger, waiting = WAITING } = deps;
  const tokenOf = (row: ConnectionRow): string => cipher.open(row, row).accessToken;
  const isExpired = ({ expiresAt }: ConnectionRow): boolean => expiresAt !== null && expiresAt <= clock.now();

  /** Makes the renewal due, or disconnects an app that has no refresh token. @returns the connection if it remains */
  const reject = (id: string, rejected: string): Promise<ConnectionRow | undefined> =>
    withTransaction(async (tx) => {
      const row = await lockIntegration(tx, id);
      if (row === undefined || tokenOf(row) !== rejected) return row;
      const { provider } = row;
      // Another call waits for the renewal already.
      if (isExpired(row) && row.refreshAt !== null) return row;
      if (cipher.open(row, row).refreshToken === undefined) {
        logger.info({ provider, reason: 'access token rejected' }, 'integration revoked by provider');
        await deleteIntegration(tx, id);
        return undefined;
      }
      const now = clock.now();
      const expired = { ...row, expiresAt: now, refreshAt: now };
      await renewIntegration(tx, id, expired);
      await jobs.enqueue({ kind: REFRESH_JOB, subjectId: id, workspaceId: id }, tx);
      return expired;
    });

  /** Waits for a renewal that has begun a short time ago. */
  async function renewed(found: ConnectionRow | undefined, signal: AbortSignal | undefined): Promise<string> {
    let row = found;
    while (row !== undefined && isExpired(row)) {
      if (row.refreshAt === null) throw new ApiError('integration_not_found');
      const expiredMs = clock.now().getTime() - (row.expiresAt?.getTime() ?? 0);
      if (expiredMs > waiting.timeoutMs || signal?.aborted === true) throw new ApiError('integration_unavailable');
      await sleep(waiting.pollMs);
      row = await findIntegration(database, row.id);
    }
    if (row === undefined) throw new ApiError('integration_not_found');
    return tokenOf(row);
  }

  return {
    current: async (userId, provider, signal) => renewed(await findIntegrationOf(database, userId, provider), signal),

    async replacing(userId, provider, rejected, signal) {
      const row = await findIntegrationOf(database, userId, provider);
      if (row === undefined) throw new ApiError('integration_not_found');
      return renewed(await reject(row.id, rejected), signal);
    },
  };
}
