import { ADMIN_CALLS, type AdminCall, adminPath, ApiError } from '@uswarm/contract';
import { type SigningKey, TokenError, verifyAdminToken } from '@uswarm/service-kit';
import { json, Router } from 'express';
import { parseInput } from '../../http/input.js';
import { bearerToken } from '../auth/credentials.js';
import type { AdminService } from './admin.service.js';

/** A legal text, with what JSON makes of it. */
const BODY_BYTES = 4 * 1024 * 1024;

type AnyCall = (actor: string, body: unknown) => Promise<object>;

/** The part of the internal API that operators use: another key than that of the gateways opens it. */
export function createAdminRouter(keys: readonly SigningKey[], service: AdminService): Router {
  const router = Router();
  for (const call of Object.keys(ADMIN_CALLS) as AdminCall[]) {
    router.post(adminPath(call), async (request, response, next) => {
      // Before the body is read: who may not ask has nothing to say.
      response.locals['operator'] = await operator(keys, request.get('authorization'));
      next();
    });
    router.post(adminPath(call), json({ limit: BODY_BYTES }), async (request, response) => {
      const body = parseInput(ADMIN_CALLS[call].body, request.body ?? {});
      const answer = await (service[call] as AnyCall)(String(response.locals['operator']), body);
      response.json(answer);
    });
  }
  return router;
}

/** @returns the name of who asks. @throws ApiError `token_invalid` */
async function operator(keys: readonly SigningKey[], authorization: string | undefined): Promise<string> {
  try {
    return await verifyAdminToken(keys, bearerToken(authorization) ?? '');
  } catch (error) {
    throw error instanceof TokenError ? new ApiError('token_invalid', { cause: error }) : error;
  }
}
