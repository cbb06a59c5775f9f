import { ApiError } from '@uswarm/contract';
import { type SigningKey, TokenError, verifyInternalToken } from '@uswarm/service-kit';
import type { Request } from 'express';
import { bearerToken } from '../features/auth/credentials.js';

/** Returns the subject of the service token of the request. @throws ApiError `token_invalid` */
export async function serviceTokenSubject(request: Request, keys: readonly SigningKey[]): Promise<string> {
  try {
    return await verifyInternalToken(keys, bearerToken(request.get('authorization')) ?? '');
  } catch (error) {
    throw error instanceof TokenError ? new ApiError('token_invalid', { cause: error }) : error;
  }
}
