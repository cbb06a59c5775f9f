import { ApiError } from '@uswarm/contract';
import type { Handler, Handlers } from '../../platform/http/handlers.js';
import type { ToolReview } from './tool-review.js';
import type { ToolServer } from './tool-servers-file.js';

export interface ServerToolHandlersDeps {
  /** With an account per user. */
  servers: readonly ToolServer[];
  review: ToolReview;
  isConnected: (userId: string, server: string) => Promise<boolean>;
}

export function serverToolHandlers({ servers, review, isConnected }: ServerToolHandlersDeps) {
  async function require(userId: string, id: string): Promise<ToolServer> {
    const server = servers.find((one) => one.id === id);
    if (server === undefined || !(await isConnected(userId, id))) throw new ApiError('integration_not_found');
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
