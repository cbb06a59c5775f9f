import {
  type AskUser,
  type CallRequest,
  type CallToolResult,
  createMcpConnections,
  type ListedTools,
  McpFailure,
  type RequestToken,
} from '@uswarm/mcp-client';
import { createTaskQueue, retry } from '@uswarm/service-kit';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import { limitedFetch } from './limited-fetch.js';
import type { ServerScopes } from './server-scopes.js';
import type { ToolServer } from './tool-servers-file.js';

/** A server with one account. */
export interface ServerClient {
  /** @throws McpFailure */
  list(signal: AbortSignal): Promise<ListedTools>;
  /** @throws AccountNeeded if the account lacks permissions for the tool */
  requireScopes(tool: string): Promise<void>;
  /**
   * Repeats a call that the server did not execute, such as after it has ended the session.
   *
   * @param ask answers the server's questions
   * @throws McpFailure; ProtocolError if the server rejects the call; AccountNeeded; the reason of `signal`
   */
  call(userId: string, request: CallRequest, signal: AbortSignal, ask?: AskUser): Promise<CallToolResult>;
  close(): Promise<void>;
}

/** A server's token; undefined if it needs none. Each method throws McpFailure or AccountNeeded. */
export interface ServerTokens {
  current(signal: AbortSignal): Promise<string | undefined>;
  /** Replaces a token that the server has rejected. */
  replacing?(rejected: string | undefined, signal: AbortSignal): Promise<string>;
}

export interface ServerClientDeps {
  outgoing: Pick<Outgoing, 'fetch'>;
  tokens: ServerTokens;
  /** True if all users share the connection. */
  isShared: boolean;
  /** Of a user's account. */
  scopes?: ServerScopes;
  version: string;
  /** Called when the server reports that its tools have changed. */
  listChanged?: () => void;
}

const LIST_TIMEOUT_MS = 10_000;
/** Progress notifications extend a call up to this time. */
const MAX_CALL_MS = 600_000;
const ATTEMPTS = 3;
const RETRY = { initialMs: 500, maxMs: 4_000, deadlineMs: 20_000 };

/** True if the server did not execute the request, and a repetition may succeed. */
const isRepeatable = (error: unknown): boolean =>
  error instanceof McpFailure && (error.status === 404 || error.status === 429);

const waitAtLeastMs = (error: unknown): number => (error instanceof McpFailure ? (error.retryAfterMs ?? 0) : 0);

export function createServerClient(server: ToolServer, deps: ServerClientDeps): ServerClient {
  const { url, limits } = server;
  const { scopes } = deps;
  const queue = createTaskQueue({ concurrent: limits.max_concurrent });
  const callTimeoutMs = limits.call_timeout_s * 1_000;
  const connections = createMcpConnections({
    endpoint: url,
    client: { name: 'uswarm', version: deps.version },
    fetch: limitedFetch(deps.outgoing.fetch),
    // A listing shows whether a tool has changed.
    listTtlMs: 0,
    asks: deps.isShared ? 'shared' : 'one user',
    listTimeoutMs: LIST_TIMEOUT_MS,
    callTimeoutMs,
    maxCallMs: Math.max(callTimeoutMs, MAX_CALL_MS),
    ...(deps.listChanged === undefined ? {} : { listChanged: deps.listChanged }),
    // Not one for each user.
    keepsStream: deps.isShared,
  });

  /** A rejected request was not executed, so it can be sent with another token. */
  async function attempt<T>(request: (token: RequestToken) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { current, replacing } = deps.tokens;
    const token = await current(signal);
    try {
      return await request(() => token);
    } catch (error) {
      if (replacing === undefined || !(error instanceof McpFailure) || error.status !== 401) throw error;
      // Another token has no other scopes.
      if (error.neededScopes !== undefined) throw error;
      const newToken = await replacing(token, signal);
      return request(() => newToken);
    }
  }

  function repeated<T>(request: (token: RequestToken) => Promise<T>, signal: AbortSignal): Promise<T> {
    let attempts = 0;
    const once = (): Promise<T> => {
      attempts += 1;
      return attempt(request, signal);
    };
    const retryable = (error: unknown): boolean => attempts < ATTEMPTS && isRepeatable(error);
    return retry(once, { ...RETRY, signal, retryable, waitAtLeastMs });
  }

  return {
    list: (signal) => repeated((own) => connections.list(own, signal), signal),
    requireScopes: async (tool) => scopes?.require(tool),

    async call(userId, request, signal, ask) {
      const send = (own: RequestToken) =>
        queue.run(() => connections.call(own, request, signal, ask), { key: userId, signal });
      try {
        return await repeated(send, signal);
      } catch (error) {
        if (error instanceof McpFailure && error.neededScopes !== undefined)
          await scopes?.need(request.name, error.neededScopes);
        throw error;
      }
    },

    close: () => connections.close(),
  };
}
