import { ADMIN_CALLS, type AdminCall, adminPath, ApiError } from '@uswarm/contract';
import { plainAddress, requireUtf8, type SecurityLog } from '@uswarm/service-kit';
import { json, type Request, Router } from 'express';
import { parseInput } from '../../platform/http/input.js';
import { bearerToken } from '../../platform/http/credentials.js';
import type { AdminService } from './admin.service.js';
import type { Operators } from './operators.js';

/** Fits a legal document with JSON escapes. */
const BODY_BYTES = 4 * 1024 * 1024;

type AnyCall = (actor: string, body: unknown) => Promise<object>;

export interface AdminRouterDeps {
  operators: Operators;
  service: AdminService;
  security: Pick<SecurityLog, 'refused'>;
  sourceName: (address: string) => string;
}

/** Operator keys differ from the gateway key. */
export function createAdminRouter({ operators, service, security, sourceName }: AdminRouterDeps): Router {
  const router = Router();

  async function authenticate(call: AdminCall, request: Request): Promise<string> {
    try {
      return await operators.authenticate(bearerToken(request.get('authorization')) ?? '', call);
    } catch (error) {
      if (error instanceof ApiError) {
        const source = sourceName(plainAddress(request.socket.remoteAddress ?? ''));
        security.refused({ what: `admin ${call}`, outcome: error.code, source });
      }
      throw error;
    }
  }

  for (const call of Object.keys(ADMIN_CALLS) as AdminCall[]) {
    router.post(adminPath(call), async (request, response, next) => {
      // Authenticate before the body is read, so that rejected callers cannot send large bodies.
      response.locals['operator'] = await authenticate(call, request);
      next();
    });
    router.post(adminPath(call), json({ limit: BODY_BYTES, verify: requireUtf8 }), async (request, response) => {
      const body = parseInput(ADMIN_CALLS[call].body, request.body ?? {});
      const answer = await (service[call] as AnyCall)(String(response.locals['operator']), body);
      response.json(answer);
    });
  }
  return router;
}
