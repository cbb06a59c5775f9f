import { ApiError } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import { appendAudit } from '../../records/audit.store.js';
import { hashOfToken, isWellFormed } from './api-token-text.js';
import { findPresentedToken, type PresentedToken, recordApiTokenUse } from './api-tokens.store.js';
import { isTokenRevoked } from './sessions.store.js';

/** Verifies the API tokens that requests present. */
export interface ApiTokens {
  /** @throws ApiError `token_invalid`, `token_revoked`, `token_expired`, `user_banned` */
  verify(text: string): Promise<VerifiedApiToken>;
  /** Records the use asynchronously: requests neither wait for it nor fail because of it. */
  used(token: PresentedToken, source: string | null): void;
}

export interface VerifiedApiToken extends PresentedToken {
  hash: Buffer;
}

export interface ApiTokensDeps {
  database: Database;
  withTransaction: WithTransaction;
  logger: Pick<Logger, 'debug'>;
}

export function createApiTokens({ database, withTransaction, logger }: ApiTokensDeps): ApiTokens {
  const record = ({ id, user_id: userId }: PresentedToken, source: string | null): Promise<void> =>
    withTransaction(async (tx) => {
      if (!(await recordApiTokenUse(tx, id))) return;
      const details = source === null ? {} : { source };
      await appendAudit(tx, { actor: 'user', action: 'api_token.first_use', userId, subjectId: id, details });
    });

  return {
    async verify(text) {
      if (!isWellFormed(text)) throw new ApiError('token_invalid');
      const hash = hashOfToken(text);
      const found = await findPresentedToken(database, hash);
      if (found === undefined) {
        throw new ApiError((await isTokenRevoked(database, hash)) ? 'token_revoked' : 'token_invalid');
      }
      if (found.is_expired) throw new ApiError('token_expired');
      if (found.is_banned) throw new ApiError('user_banned');
      return { ...found, hash };
    },
    used(token, source) {
      if (!token.is_use_due) return;
      record(token, source).catch((error: unknown) =>
        logger.debug({ err: error }, 'the use of a token was not recorded'),
      );
    },
  };
}
