import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { type ApiError, LIMITS } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import { type Request, type Response, Router } from 'express';
import type { UserActor } from '../../accounts/auth/actor.js';
import { toApiError } from '../../platform/http/errors.js';
import { type AuthenticateProgram, enter } from '../enter.js';
import { registerWorkspaceTools, type WorkspaceToolsDeps } from './workspace-tools.js';

export interface McpDoorDeps extends Omit<WorkspaceToolsDeps, 'onError'> {
  authenticate: AuthenticateProgram;
  /** Their tokens are accepted. */
  issuers: readonly string[];
  /** Default: the address that a request names. */
  publicUrl: string | undefined;
  version: string;
  logger: Pick<Logger, 'error' | 'warn'>;
}

const PATH = '/v1/mcp';
/** Below `/v1`, which every ingress leads here. The challenge names it. */
const METADATA_PATH = `${PATH}/oauth-protected-resource`;

/** A user's workspaces as an MCP server: stateless streamable HTTP. */
export function createMcpDoor({ authenticate, issuers, publicUrl, version, logger, ...deps }: McpDoorDeps): Router {
  const mcp = createMcpHandler(
    ({ authInfo }) => {
      const server = new McpServer({ name: 'uswarm', title: 'uswarm', version });
      const onError = (error: unknown): void => logger.error({ err: error }, 'a tool of the MCP door failed');
      registerWorkspaceTools(server, authInfo?.extra?.['actor'] as UserActor, { ...deps, onError });
      return server;
    },
    {
      maxRequestBodySize: LIMITS.bodyBytes,
      onerror: (error) => logger.warn({ err: error }, 'MCP request rejected'),
    },
  );
  const serve = toNodeHandler(mcp, { maxRequestBodySize: LIMITS.bodyBytes });
  const addressOf = (request: Request): string =>
    (publicUrl ?? `${request.protocol}://${request.get('host') ?? ''}`).replace(/\/$/, '');
  const router = Router();

  router.get(METADATA_PATH, (request, response) => {
    response.locals['route'] = { operationId: 'mcpResourceMetadata' };
    response.json({
      resource: addressOf(request) + PATH,
      resource_name: 'uswarm',
      authorization_servers: issuers,
      bearer_methods_supported: ['header'],
    });
  });

  router.all(PATH, async (request: Request, response: Response) => {
    const entrance = { operationId: 'mcp', errorBody, authenticate };
    const actor = await enter(request, response, entrance).catch((error: unknown) => {
      if (toApiError(error).status === 401) response.set('WWW-Authenticate', challenge(request, error));
      throw error;
    });
    // Tools do not need the token itself.
    const auth = { token: '', clientId: actor.userId, scopes: [], extra: { actor } };
    await serve(Object.assign(request, { auth }), response);
  });

  /** RFC 6750 and RFC 9728. */
  function challenge(request: Request, error: unknown): string {
    const metadata = `resource_metadata="${addressOf(request)}${METADATA_PATH}"`;
    return toApiError(error).code === 'token_missing'
      ? `Bearer ${metadata}`
      : `Bearer error="invalid_token", ${metadata}`;
  }
  return router;
}

const errorBody = ({ code, message }: ApiError) => ({ error: code, error_description: message });
