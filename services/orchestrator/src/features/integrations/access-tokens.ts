import { ApiError, type IntegrationProvider } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { IntegrationStore } from './integrations.store.js';
import type { TokenCipher } from './token-cipher.js';

/**
 * The access token for calls on behalf of a user. A background job renews it before it expires.
 *
 * @throws ApiError `integration_not_found`, also if the token has expired and cannot be renewed; `integration_unavailable` if it
 *   expired before it was renewed
 */
export type AccessTokens = (userId: string, provider: IntegrationProvider) => Promise<string>;

export interface AccessTokensDeps {
  store: Pick<IntegrationStore, 'findOf'>;
  cipher: TokenCipher;
  clock: Clock;
}

export const createAccessTokens =
  ({ store, cipher, clock }: AccessTokensDeps): AccessTokens =>
  async (userId, provider) => {
    const row = await store.findOf(userId, provider);
    if (row === undefined) throw new ApiError('integration_not_found');
    if (row.expiresAt !== null && row.expiresAt <= clock.now())
      throw new ApiError(row.refreshAt === null ? 'integration_not_found' : 'integration_unavailable');
    return cipher.open(row, row).accessToken;
  };
