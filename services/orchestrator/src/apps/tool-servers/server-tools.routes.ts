import { ApiError } from '@uswarm/contract';
import type { Handler, Handlers } from '../../platform/http/handlers.js';
import type { ToolReview } from './tool-review.js';
import { isPersonal, type ToolServer } from './tool-servers-file.js';
import type { ToolServers } from './tool-servers.js';

export interface ServerToolHandlersDeps {
  servers: Pick<ToolServers, 'find'>;
  review: ToolReview;
  isConnected: (userId: string, server: ToolServer) => Promise<boolean>;
}

export function serverToolHandlers({ servers, review, isConnected }: ServerToolHandlersDeps) {
  async function require(userId: string, id: string): Promise<ToolServer> {
    const server = await servers.find(userId, id);
    if (server === undefined || !isPersonal(server) || !(await isConnected(userId, server)))
      throw new ApiError('integration_not_found');
    return server;
  }

  const listServerTools: Handler<'listServerTools'> = async ({ actor, params }) => {
    const tools = await review.list([await require(actor.userId, params.server)], actor.userId);
    return { status: 200, body: { data: tools.map(({ server: _, ...tool }) => tool) } };
  };
  const acceptServerTools: Handler<'acceptServerTools'> = async ({ actor, params, body }) => {
    const { id } = await require(actor.userId, params.server);
    await review.accept('user', { server: id, ownerId: actor.userId }, body.tools);
    return { status: 204 };
  };
  return { listServerTools, acceptServerTools } satisfies Partial<Handlers>;
}
