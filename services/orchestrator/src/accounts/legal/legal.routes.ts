import type { Handler } from '../../platform/http/handlers.js';
import type { LegalService } from './legal.service.js';

// REST-003, REST-012, REST-013
export function legalHandlers(service: LegalService) {
  const getLegal: Handler<'getLegal'> = async () => ({ status: 200, body: { data: await service.status() } });
  const getUserLegal: Handler<'getUserLegal'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.status(actor.userId) },
  });
  const acceptLegal: Handler<'acceptLegal'> = async ({ actor, body }) => {
    const { terms_of_service_version: terms, privacy_policy_version: privacy } = body;
    await service.accept(actor.userId, {
      ...(terms === undefined ? {} : { terms_of_service: terms }),
      ...(privacy === undefined ? {} : { privacy_policy: privacy }),
    });
    return { status: 204 };
  };
  return { getLegal, getUserLegal, acceptLegal };
}
