import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CallRequest, type CallToolResult, createMcpConnections, McpFailure, type Tool } from '@uswarm/mcp-client';
import { createTaskQueue, retry } from '@uswarm/service-kit';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import { limitedFetch } from './limited-fetch.js';
import type { ToolServer } from './tool-servers-file.js';

/** One operator's server. All users share its connection. */
export interface ServerClient {
  /** @throws McpFailure */
  list(signal: AbortSignal): Promise<readonly Tool[]>;
  /**
   * Repeats a call that the server did not execute, such as after it has ended the session.
   *
   * @throws McpFailure; ProtocolError if the server rejects the call; the reason of `signal`
   */
  call(userId: string, request: CallRequest, signal: AbortSignal): Promise<CallToolResult>;
  close(): Promise<void>;
}

export interface ServerClientDeps {
  outgoing: Pick<Outgoing, 'fetch'>;
  /** Directory with the tokens. */
  secrets: string | undefined;
  version: string;
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
  const { url, auth, limits } = server;
  const queue = createTaskQueue({ concurrent: limits.max_concurrent });
  const callTimeoutMs = limits.call_timeout_s * 1_000;
  const connections = createMcpConnections({
    endpoint: url,
    client: { name: 'uswarm', version: deps.version },
    fetch: limitedFetch(deps.outgoing.fetch),
    // A listing shows whether a tool has changed.
    listTtlMs: 0,
    listTimeoutMs: LIST_TIMEOUT_MS,
    callTimeoutMs,
    maxCallMs: Math.max(callTimeoutMs, MAX_CALL_MS),
  });

  async function token(): Promise<() => string | undefined> {
    if (auth.type === 'none') return () => undefined;
    const text = await readFile(join(deps.secrets ?? '', auth.secret), 'utf8').catch((error: unknown) => {
      throw new McpFailure('cannot be used, because its token cannot be read', {}, { cause: error });
    });
    return () => text.trim();
  }

  function repeated<T>(request: (token: () => string | undefined) => Promise<T>, signal: AbortSignal): Promise<T> {
    let attempts = 0;
    const attempt = async (): Promise<T> => {
      attempts += 1;
      return request(await token());
    };
    const retryable = (error: unknown): boolean => attempts < ATTEMPTS && isRepeatable(error);
    return retry(attempt, { ...RETRY, signal, retryable, waitAtLeastMs });
  }

  return {
    list: (signal) => repeated((own) => connections.list(own, signal), signal),
    call: (userId, request, signal) =>
      repeated((own) => queue.run(() => connections.call(own, request, signal), { key: userId, signal }), signal),
    close: () => connections.close(),
  };
}
