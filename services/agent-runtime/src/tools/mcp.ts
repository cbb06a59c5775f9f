import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type CallToolResult,
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Tool,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import type { Logger } from '@uswarm/service-kit';
import type { ToolDefinition } from '../models/model.js';
import { toToolResult } from './mcp-result.js';
import type { TokenOfTurn, ToolResult, ToolServer, ToolSource } from './tool.js';
import { capped, visibleText } from './untrusted-text.js';

export interface McpDeps {
  endpoint: string;
  /** For turns without a token: an orchestrator or sync hook of release 0.2 sets it for the process. */
  token?: string | undefined;
  version: string;
  logger: Pick<Logger, 'warn'>;
  /** Milliseconds to connect, and to list the tools. */
  listTimeoutMs?: number;
  /** Milliseconds per call. */
  callTimeoutMs?: number;
}

/** Function names that model providers accept. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_DESCRIPTION_BYTES = 4 * 1024;

function toDefinition({ name, description = '', inputSchema }: Tool): ToolDefinition {
  return { name, description: capped(visibleText(description), MAX_DESCRIPTION_BYTES), inputSchema };
}

function reasonOf(error: unknown): string {
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) return 'did not respond in time';
  if (error instanceof UnauthorizedError) return 'rejected the token of this turn';
  if (error instanceof SdkHttpError && error.status === 429) return 'is limiting requests; try again later';
  if (error instanceof SdkHttpError && error.status !== undefined) return `returned status ${error.status}`;
  return 'could not be reached';
}

const asFailure = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] });

interface Session {
  client: Client;
  tools: readonly ToolDefinition[];
}

/**
 * Tools of an MCP server over streamable HTTP. Connects on first use and again after a failure. Turns share the connection;
 * each request has the token of its turn.
 */
export function createMcpTools(deps: McpDeps): ToolServer & { close(): Promise<void> } {
  const { endpoint, version, logger, listTimeoutMs = 5_000, callTimeoutMs = 30_000 } = deps;
  // The SDK requests the token for each HTTP request, without a context.
  const tokenOfTurn = new AsyncLocalStorage<TokenOfTurn>();
  let session: Promise<Session> | undefined;

  async function connect(): Promise<Session> {
    const client = new Client({ name: 'uswarm-agent-runtime', version }, { versionNegotiation: { mode: 'auto' } });
    const authProvider = { token: () => Promise.resolve(tokenOfTurn.getStore()?.() ?? deps.token) };
    const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider });
    try {
      await client.connect(transport, { timeout: listTimeoutMs });
      const { tools } = await client.listTools(undefined, { timeout: listTimeoutMs });
      return { client, tools: tools.filter(({ name }) => TOOL_NAME.test(name)).map(toDefinition) };
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** Concurrent turns share one attempt; a failed attempt is discarded. */
  function current(): Promise<Session> {
    session ??= connect().catch((error: unknown) => {
      session = undefined;
      throw error;
    });
    return session;
  }

  async function discard(broken: Promise<Session>): Promise<void> {
    if (session === broken) session = undefined;
    await broken.then(({ client }) => client.close()).catch(() => undefined);
  }

  const forTurn = (token: TokenOfTurn): ToolSource => ({
    async list(signal) {
      try {
        return (await unlessAborted(tokenOfTurn.run(token, current), signal)).tools;
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ err: error }, 'listing the tools failed');
        throw new Error(`The tool server ${reasonOf(error)}.`, { cause: error });
      }
    },

    async call(name, input, signal): Promise<ToolResult> {
      const attempt = tokenOfTurn.run(token, current);
      try {
        const { client } = await unlessAborted(attempt, signal);
        const options = { signal, timeout: callTimeoutMs, maxTotalTimeout: callTimeoutMs };
        const call = (): Promise<CallToolResult> => client.callTool({ name, arguments: input }, options);
        return toToolResult(await tokenOfTurn.run(token, call));
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ err: error, tool: name }, 'tool call failed');
        // The server works and reports an error, such as invalid arguments, which the model can correct.
        if (error instanceof ProtocolError) return toToolResult(asFailure(`${name}: ${error.message}`));
        void discard(attempt);
        return { text: `${name}: the tool server ${reasonOf(error)}.`, failed: true };
      }
    },
  });

  return {
    forTurn,
    async close() {
      if (session !== undefined) await discard(session);
    },
  };
}

/** Rejects with the reason of the signal if it aborts first. The work continues for other turns. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
