import { ApiError } from '@uswarm/contract';
import { McpFailure } from '@uswarm/mcp-client';
import { AuthorizationFailure, discoverAuthorization } from '@uswarm/mcp-client/authorization';
import { createTaskQueue, type Logger } from '@uswarm/service-kit';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import type { HashedDefinition } from '../../records/tool-definitions.store.js';
import { listTools, offered } from './listing.js';
import { createServerClient } from './server-client.js';
import { userServer } from './tool-servers-file.js';

export interface ProbeDeps {
  /** Reaches only addresses on the internet. */
  outgoing: Pick<Outgoing, 'fetch'>;
  /** False if the operator has not set where authorization servers send the browser back. */
  canConnect: boolean;
  version: string;
  logger: Pick<Logger, 'info'>;
}

export interface ProbedServer {
  userId: string;
  id: string;
  url: string;
  token: string | undefined;
  clientId: string | undefined;
}

/** A server that agents can use, or one whose account the user has to connect first. */
export type Probe = { tools: HashedDefinition[] } | { needsAccount: true };

type Reason = 'unreachable' | 'not_mcp' | 'token_rejected' | 'account_unsupported';

const TIMEOUT_MS = 15_000;
/** Servers that are called concurrently: users take turns, so that slow servers of one user delay others little. */
const CONCURRENT = 16;

const MESSAGES: Readonly<Record<Reason, string>> = {
  // The same for a private address: the answer must not tell what exists in the network.
  unreachable: 'The server cannot be reached on the internet, or did not answer in time.',
  not_mcp: 'The address does not answer as an MCP server over streamable HTTP.',
  token_rejected: 'The server rejects the token.',
  account_unsupported:
    'The server wants an account that cannot be connected here. If it registers no clients, give the client_id of one.',
};

const unusable = (reason: Reason, cause: unknown): ApiError =>
  new ApiError('tool_server_unusable', { message: MESSAGES[reason], extra: { reason }, cause });

/**
 * Calls a server before it is stored.
 *
 * @throws ApiError `tool_server_unusable`
 */
export function createServerProbe({ outgoing, canConnect, version, logger }: ProbeDeps) {
  const queue = createTaskQueue({ concurrent: CONCURRENT });

  async function list({ id, url, token }: ProbedServer, signal: AbortSignal): Promise<HashedDefinition[]> {
    const server = userServer('', { id, name: id, url, auth: { type: 'none' } });
    const client = createServerClient(server, {
      outgoing,
      tokens: { current: async () => token },
      isShared: false,
      version,
    });
    try {
      return offered(await listTools(id, client, signal));
    } finally {
      await client.close();
    }
  }

  /** True if an account of the server can be connected. */
  async function offersAccounts({ url, clientId }: ProbedServer, signal: AbortSignal): Promise<boolean> {
    const found = await discoverAuthorization({ url, fetch: outgoing.fetch, signal });
    if (found === undefined) return false;
    if (canConnect && (clientId !== undefined || found.registrationEndpoint !== undefined)) return true;
    throw new AuthorizationFailure('unsupported', 'no client can be registered there');
  }

  async function probe(asked: ProbedServer, signal: AbortSignal): Promise<Probe> {
    try {
      return { tools: await list(asked, signal) };
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error;
      const { status } = error;
      if (asked.token !== undefined) throw status === 401 || status === 403 ? unusable('token_rejected', error) : error;
      if (status === 401) {
        if (await offersAccounts(asked, signal)) return { needsAccount: true };
      } else if (status === 400 || status === 403) {
        // Some servers challenge with these. Without a challenge, the first answer is the reason.
        if (await offersAccounts(asked, signal).catch(() => false)) return { needsAccount: true };
      }
      throw error;
    }
  }

  function reasonOf(error: unknown): Reason | undefined {
    if (error instanceof AuthorizationFailure)
      return error.kind === 'unreachable' ? 'unreachable' : 'account_unsupported';
    if (error instanceof McpFailure) return error.status === undefined ? 'unreachable' : 'not_mcp';
    return undefined;
  }

  return async (asked: ProbedServer): Promise<Probe> => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      return await queue.run(() => probe(asked, signal), { key: asked.userId, signal });
    } catch (error) {
      const reason = signal.aborted ? 'unreachable' : reasonOf(error);
      if (reason === undefined) throw error;
      logger.info({ host: new URL(asked.url).hostname, err: error }, 'a tool server that a user names cannot be used');
      throw unusable(reason, error);
    }
  };
}

export type ServerProbe = ReturnType<typeof createServerProbe>;
