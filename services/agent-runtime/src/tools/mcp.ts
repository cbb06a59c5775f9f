import {
  CLOSED,
  createMcpConnections,
  failedResult,
  McpFailure,
  ProtocolError,
  type Tool,
  type ToolResult,
  toToolResult,
} from '@uswarm/mcp-client';
import { capped, createTaskQueue, type Logger, retry, visibleText } from '@uswarm/service-kit';
import type { FunctionTool } from '../models/port.js';
import type { TokenOfTurn, ToolServer, ToolSource } from './tool.js';

export interface McpDeps {
  endpoint: string;
  /** For turns without a token: an orchestrator or sync hook of release 0.2 sets it for the process. */
  token?: string | undefined;
  version: string;
  logger: Pick<Logger, 'warn'>;
  /** Milliseconds to connect, and to list the tools. */
  listTimeoutMs?: number;
  /** Milliseconds per call; progress notifications extend them up to `maxCallMs`. */
  callTimeoutMs?: number;
  maxCallMs?: number;
}

/** Function names that model providers accept. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_DESCRIPTION_BYTES = 4 * 1024;

function toDefinition({ name, description = '', inputSchema }: Tool): FunctionTool {
  return {
    type: 'function',
    name,
    description: capped(visibleText(description), MAX_DESCRIPTION_BYTES),
    inputSchema: inputSchema as FunctionTool['inputSchema'],
  };
}

/** Concurrent calls per runtime; `uswarm-searxng-client` runs as many per workspace. */
const MAX_CONCURRENT_CALLS = 4;
const MAX_ATTEMPTS = 3;
const RETRY = { initialMs: 500, maxMs: 4_000, deadlineMs: 20_000 };

/** Whether a second execution does no harm, as the server declares. */
const isRepeatable = ({ annotations }: Tool): boolean =>
  annotations?.readOnlyHint === true || annotations?.idempotentHint === true;

/** True if the server did not execute the call and a repetition may succeed. */
const isRetryable = (error: unknown): boolean =>
  error instanceof McpFailure && (error.status === 404 || error.status === 429);

/**
 * The tools on an MCP server over streamable HTTP. Connects on first use and again after the connection breaks. Turns
 * share the connection; each request has its turn's token. Calls fail independently of each other.
 */
export function createMcpTools(deps: McpDeps): ToolServer & { close(): Promise<void> } {
  const { logger, listTimeoutMs = 5_000, callTimeoutMs = 30_000, maxCallMs = 600_000 } = deps;
  const { endpoint, version } = deps;
  const connections = createMcpConnections({
    endpoint,
    client: { name: 'uswarm-agent-runtime', version },
    token: deps.token,
    listTimeoutMs,
    callTimeoutMs,
    maxCallMs,
  });
  const queue = createTaskQueue({ concurrent: MAX_CONCURRENT_CALLS });
  /** Tools whose call can be repeated if the connection is lost, by name. */
  let repeatable = new Set<string>();

  function sourceOf(tokenOfTurn: TokenOfTurn): ToolSource {
    const turn = {};
    return {
      async list(signal) {
        try {
          const list = () => connections.list(tokenOfTurn, signal);
          const { tools } = await retry(list, {
            ...RETRY,
            deadlineMs: listTimeoutMs,
            signal,
            retryable: isRetryable,
            waitAtLeastMs,
          });
          repeatable = new Set(tools.filter(isRepeatable).map(({ name }) => name));
          return tools.filter(({ name }) => TOOL_NAME.test(name)).map(toDefinition);
        } catch (error) {
          signal.throwIfAborted();
          logger.warn({ err: error }, 'listing the tools failed');
          throw new Error(`The tool server ${reasonOf(error)}.`, { cause: error });
        }
      },

      async call(name, input, signal, token): Promise<ToolResult> {
        const tokenOfCall: TokenOfTurn = token ? () => token : tokenOfTurn;
        let attempts = 0;
        const attempt = (): ReturnType<typeof connections.call> => {
          attempts += 1;
          const request = { name, arguments: input };
          return queue.run(() => connections.call(tokenOfCall, request, signal), { key: turn, signal });
        };
        const isLost = (error: unknown): boolean =>
          error instanceof McpFailure && error.message === CLOSED && repeatable.has(name);
        const retryable = (error: unknown): boolean => attempts < MAX_ATTEMPTS && (isRetryable(error) || isLost(error));
        try {
          return toToolResult(await retry(attempt, { ...RETRY, signal, retryable, waitAtLeastMs }));
        } catch (error) {
          signal.throwIfAborted();
          logger.warn({ err: error, tool: name, attempts }, 'tool call failed');
          // The server works and reports an error, such as invalid arguments, which the model can correct.
          if (error instanceof ProtocolError) return failedResult(`${name}: ${error.message}`);
          const isUnknown = error instanceof McpFailure && error.outcomeUnknown;
          const outcome = isUnknown ? ' It is not known whether the tool did it.' : '';
          return { text: `${name}: the tool server ${reasonOf(error)}.${outcome}`, failed: true };
        }
      },
    };
  }

  return { forTurn: sourceOf, close: () => connections.close() };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof McpFailure)) return 'failed unexpectedly';
  return error.status === 401 ? 'rejected the token of this turn' : error.message;
}

const waitAtLeastMs = (error: unknown): number => (error instanceof McpFailure ? (error.retryAfterMs ?? 0) : 0);
