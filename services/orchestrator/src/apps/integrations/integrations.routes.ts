import type { Handler, Handlers } from '../../platform/http/handlers.js';
import { ApiError } from '@uswarm/contract';
import { connectionKey } from '../tool-servers/server-accounts.js';
import type { ToolServer } from '../tool-servers/tool-servers-file.js';
import type { ToolServers } from '../tool-servers/tool-servers.js';
import type { IntegrationService } from './integrations.service.js';

/** An app that is a tool server in this installation is connected there. */
const connectionOf = (provider: string, servers: readonly ToolServer[]): string =>
  servers.some(({ id, auth }) => id === provider && auth.type === 'oauth') ? connectionKey(provider) : provider;

/** REST-036 to REST-038 */
export function integrationHandlers(service: IntegrationService, servers: readonly ToolServer[]) {
  const listIntegrations: Handler<'listIntegrations'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.list(actor.userId) },
  });
  const connectIntegration: Handler<'connectIntegration'> = async ({ actor, body }) => ({
    status: 200,
    body: await service.connect(actor.userId, connectionOf(body.provider, servers)),
  });
  const completeIntegration: Handler<'completeIntegration'> = async ({ actor, body }) => {
    const {
      provider: name,
      authorization_code: code,
      code_verifier: codeVerifier,
      redirect_url: redirectUrl,
      state,
      iss: issuer,
    } = body;
    const provider = connectionOf(name, servers);
    await service.complete(actor, { provider, code, codeVerifier, redirectUrl, state, issuer });
    return { status: 204 };
  };
  const disconnectIntegration: Handler<'disconnectIntegration'> = async ({ actor, params }) => {
    await service.disconnect(actor, connectionOf(params.provider, servers));
    return { status: 204 };
  };
  return {
    listIntegrations,
    connectIntegration,
    completeIntegration,
    disconnectIntegration,
  } satisfies Partial<Handlers>;
}

/** Accounts on tool servers, including those without a `provider` in the API. */
export function toolServerHandlers(service: IntegrationService, servers: Pick<ToolServers, 'find'>) {
  async function requireAccount(userId: string, id: string): Promise<string> {
    const server = await servers.find(userId, id);
    if (server?.auth.type === 'oauth') return connectionKey(id);
    if (server?.addedBy === undefined) throw new ApiError('integration_not_found');
    const message = 'No account can be connected to this server. If it needs a new token, add it again with that.';
    throw new ApiError('integration_not_configured', { message });
  }

  const connectToolServer: Handler<'connectToolServer'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.connect(actor.userId, await requireAccount(actor.userId, params.server)) },
  });
  const completeToolServer: Handler<'completeToolServer'> = async ({ actor, params, body }) => {
    const { authorization_code: code, code_verifier: codeVerifier, redirect_url: redirectUrl, state, iss } = body;
    const provider = await requireAccount(actor.userId, params.server);
    await service.complete(actor, { provider, code, codeVerifier, redirectUrl, state, issuer: iss });
    return { status: 204 };
  };
  return { connectToolServer, completeToolServer } satisfies Partial<Handlers>;
}
