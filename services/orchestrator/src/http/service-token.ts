import { ApiError } from '@uswarm/contract';
import { type SigningKey, TokenError, verifyInternalToken } from '@uswarm/service-kit';
import type { Request } from 'express';
import { bearerToken } from '../features/auth/credentials.js';

/** Verifies the tokens of one kind of service. @throws TokenError */
export type VerifyServiceToken = (keys: readonly SigningKey[], token: string) => Promise<string>;

/**
 * Returns the subject of the service token of the request.
 *
 * @param verify default: tokens of realtime gateways
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
    throw error instanceof TokenError ? new ApiError('token_invalid', { cause: error }) : error;
  }
}
