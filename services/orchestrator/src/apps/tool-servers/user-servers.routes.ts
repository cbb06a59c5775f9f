import type { Handler, Handlers } from '../../platform/http/handlers.js';
import type { IntegrationService } from '../integrations/integrations.service.js';
import { connectionKey } from './server-accounts.js';
import { isUserServerId } from './user-server-id.js';
import type { UserServers } from './user-servers.service.js';

/** Servers that users add. Operators' servers are only disconnected. */
export function userServerHandlers(service: UserServers, integrations: Pick<IntegrationService, 'disconnect'>) {
  const listToolServers: Handler<'listToolServers'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.list(actor.userId) },
  });
  const addToolServer: Handler<'addToolServer'> = async ({ actor, body }) => {
    const { name, url, token, client_id: clientId } = body;
    return { status: 201, body: { data: await service.add(actor, { name, url, token, clientId }) } };
  };
  const disconnectToolServer: Handler<'disconnectToolServer'> = async ({ actor, params: { server } }) => {
    await (isUserServerId(server)
      ? service.remove(actor, server)
      : integrations.disconnect(actor, connectionKey(server)));
    return { status: 204 };
  };
  return { listToolServers, addToolServer, disconnectToolServer } satisfies Partial<Handlers>;
}
