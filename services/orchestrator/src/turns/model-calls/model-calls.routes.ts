import {
  ApiError,
  MODEL_CALLS_PATH,
  MODEL_CALLS_TOKEN_PATH,
  ModelCallReservation,
  ModelCallUsage,
  TURN_BUDGET_REACHED,
} from '@uswarm/contract';
import { type SigningKey, verifyModelCallsToken } from '@uswarm/service-kit';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { isId } from '../../platform/database/id.js';
import { errorBody } from '../../platform/http/errors.js';
import { parseInput } from '../../platform/http/input.js';
import { serviceTokenSubject } from '../../platform/http/service-token.js';
import type { ModelCallService } from './model-calls.service.js';

export interface ModelCallRouterDeps {
  /** Open only these routes. Without a key, each call is refused. */
  keys: readonly SigningKey[];
  service: ModelCallService;
}

export function createModelCallRouter({ keys, service }: ModelCallRouterDeps): Router {
  const router = Router();

  const requireGateway = (request: Request): Promise<string> =>
    serviceTokenSubject(request, keys, verifyModelCallsToken);

  router.get(MODEL_CALLS_TOKEN_PATH, named('internalModelCallsToken'), async (request, response) => {
    await requireGateway(request);
    response.json({});
  });

  router.post(MODEL_CALLS_PATH, named('internalReserveModelCall'), async (request, response) => {
    await requireGateway(request);
    const reserved = await service.reserve(parseInput(ModelCallReservation, request.body)).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== 'token_limit_reached') throw error;
      return error;
    });
    // Not 429 as in the public API: the gateway must tell a spent budget from a rate limit.
    if (reserved instanceof ApiError) response.status(402).json(errorBody(reserved));
    else if (reserved === 'budget_reached') response.status(402).json({ code: TURN_BUDGET_REACHED });
    else if (reserved === undefined) notFound(response, 'The workspace does not have this turn.');
    else response.status(201).json(reserved);
  });

  router.put(`${MODEL_CALLS_PATH}/:id`, named('internalSettleModelCall'), async (request, response) => {
    await requireGateway(request);
    const { id } = request.params;
    const usage = parseInput(ModelCallUsage, request.body);
    if (isId(id) && (await service.settle(id, usage))) response.json({});
    else notFound(response, 'Model call not found.');
  });
  return router;
}

const named =
  (operationId: string): RequestHandler<{ id: string }> =>
  (_request, response, next) => {
    response.locals['route'] = { operationId };
    next();
  };

function notFound(response: Response, message: string): void {
  response.status(404).json({ message });
}
