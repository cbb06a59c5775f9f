import type { Handler } from '../../platform/http/handlers.js';
import type { ApiTokenService } from './api-tokens.service.js';

export function apiTokenHandlers(service: ApiTokenService) {
  const listApiTokens: Handler<'listApiTokens'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.list(actor.userId) },
  });
  const createApiToken: Handler<'createApiToken'> = async ({ actor, body }) => ({
    status: 201,
    body: { data: await service.create(actor, body) },
  });
  const revokeApiToken: Handler<'revokeApiToken'> = async ({ actor, params }) => {
    await service.revoke(actor, params.id);
    return { status: 204 };
  };
  return { listApiTokens, createApiToken, revokeApiToken };
}
