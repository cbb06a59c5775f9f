import type { Handler } from '../../platform/http/handlers.js';
import type { StepService } from './steps.service.js';

export function stepHandlers(service: StepService) {
  const listTurnSteps: Handler<'listTurnSteps'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await service.list(actor.userId, params, query),
  });
  return { listTurnSteps };
}
