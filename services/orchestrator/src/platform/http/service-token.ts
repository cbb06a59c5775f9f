import { ApiError, type ServiceTokenRefusal } from '@uswarm/contract';
import { type SigningKey, TokenError, verifyInternalToken } from '@uswarm/service-kit';
import type { Request } from 'express';
import { bearerToken } from './credentials.js';

/** Accepts tokens from one kind of service. @throws TokenError */
export type VerifyServiceToken = (keys: readonly SigningKey[], token: string) => Promise<string>;

/**
 * Returns the subject of the request's service token.
 *
 * @param verify default: tokens from realtime gateways
 * @throws ApiError `token_invalid`
 */
export async function serviceTokenSubject(
  request: Request,
  keys: readonly SigningKey[],
  verify: VerifyServiceToken = verifyInternalToken,
): Promise<string> {
  try {
    return await verify(keys, bearerToken(request.get('authorization')) ?? '');
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    const extra: ServiceTokenRefusal = { service_token: error.isExpired ? 'expired' : 'invalid' };
    throw new ApiError('token_invalid', {
      message: 'The service token is not valid.',
      extra: { ...extra },
      cause: error,
    });
  }
}
