import type { Handler, Handlers } from '../../platform/http/handlers.js';
import type { IntegrationService } from './integrations.service.js';

/** REST-036 to REST-038 */
export function integrationHandlers(service: IntegrationService) {
  const listIntegrations: Handler<'listIntegrations'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.list(actor.userId) },
  });
  const connectIntegration: Handler<'connectIntegration'> = async ({ actor, body }) => ({
    status: 200,
    body: service.connect(actor.userId, body.provider),
  });
  const completeIntegration: Handler<'completeIntegration'> = async ({ actor, body }) => {
    const {
      provider,
      authorization_code: code,
      code_verifier: codeVerifier,
      redirect_url: redirectUrl,
      state,
      iss: issuer,
    } = body;
    await service.complete(actor, { provider, code, codeVerifier, redirectUrl, state, issuer });
    return { status: 204 };
  };
  const disconnectIntegration: Handler<'disconnectIntegration'> = async ({ actor, params }) => {
    await service.disconnect(actor, params.provider);
    return { status: 204 };
  };
  return {
    listIntegrations,
    connectIntegration,
    completeIntegration,
    disconnectIntegration,
  } satisfies Partial<Handlers>;
}
