import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type CallToolResult,
  Client,
  type FetchLike,
  type JSONRPCMessage,
  MAX_CACHE_TTL_MS,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
  type Tool,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/client';
import { retryAfterOf, unlessAborted } from '@uswarm/service-kit';
import { createCallTimes } from './call-times.js';
import { type AskUser, createElicitation, type Elicit, openRequired } from './elicitation.js';
import { CLOSED, McpFailure, type Received, toFailure, TOO_MANY_TOOLS, UNREACHABLE } from './mcp-failure.js';
import { repairMessage } from './repair/message.js';
import { rewriteResponse } from './repair/response.js';
import type { Listing, UnusableTool } from './repair/tools.js';
import { neededScopesOf } from './scopes.js';

/** The bearer token, read before each HTTP request. */
export type RequestToken = () => string | undefined;

export interface McpConnectionDeps {
  endpoint: string;
  /** How the client introduces itself to the server. */
  client: { name: string; version: string };
  /** For requests whose own token is undefined. */
  token?: string | undefined;
  /** Sends all HTTP requests. Default: the global `fetch` */
  fetch?: FetchLike;
  /** Milliseconds for which a list without a time to live is valid. Default: as long as the connection. */
  listTtlMs?: number;
  /** Milliseconds to connect, and for each page when tools are listed. */
  listTimeoutMs: number;
  /** Milliseconds per call without progress. The time of questions to the user does not count. */
  callTimeoutMs: number;
  /** Milliseconds per call with progress. The time of questions to the user does not count. */
  maxCallMs: number;
  /**
   * Set if calls can ask the user. Older servers send questions apart from the response to a call: `one user` takes them for the only
   * call in flight, which could be another user's call on a `shared` connection.
   */
  asks?: 'one user' | 'shared';
  /** Called when the server reports that its list has changed: on the stream of a call, or on one that it offers. */
  listChanged?: () => void;
  /** True if a stream is kept open for such reports; only for protocol version 2026-07-28, whose calls have none. */
  keepsStream?: boolean;
}

export interface CallRequest {
  name: string;
  arguments: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

/** The tools from all pages. */
export interface ListedTools {
  tools: readonly Tool[];
  /** Entries that cannot be read. A list that is still valid has none. */
  unusable: readonly UnusableTool[];
}

export interface McpConnections {
  /** @throws McpFailure; the reason of `signal` */
  list(token: RequestToken, signal: AbortSignal): Promise<ListedTools>;
  /**
   * @param ask for connections that ask. Default: questions are canceled
   * @throws McpFailure; ProtocolError if the server rejects the call; the reason of `signal`
   */
  call(token: RequestToken, request: CallRequest, signal: AbortSignal, ask?: AskUser): Promise<CallToolResult>;
  /** Ends calls in flight. */
  close(): Promise<void>;
}

/** The context of one request. */
interface RequestContext {
  token: RequestToken;
  received: Received;
  listing?: Listing;
  /** Called when a call's response ends without a result. */
  lost?: () => void;
  elicit?: Elicit;
}

interface Connection {
  client: Client;
  requests: number;
  retired: boolean;
  /** True while a stream for changes is open. */
  listens: boolean;
}

// The SDK requests the token for each HTTP request, and sends it, without a context.
const requestContext = new AsyncLocalStorage<RequestContext>();

/** Notes the status of each response in the context of its request, and repairs its messages. */
function observed(send: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await send(url, init);
    const context = requestContext.getStore();
    if (context !== undefined) {
      context.received.status = response.status;
      context.received.neededScopes = neededScopesOf(response);
      context.received.retryAfterMs = retryAfterOf(Object.fromEntries(response.headers), Date.now());
    }
    const listing = context?.listing ?? newListing();
    return rewriteResponse(response, (message) => repairMessage(message, listing));
  };
}

const newListing = (): Listing => ({ cursors: [], unusable: [] });

const MAX_TOOLS = 1_000;
const MAX_PAGES = 50;
const NOT_OPENED = 'needs the user to open an address first, which did not happen';
/** The longest timer. Calls are limited here, because the SDK's limit would include questions to the user. */
const UNLIMITED_MS = 2 ** 31 - 1;

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];

/** Reports calls whose event stream ends without a result; the SDK alone would wait until the call times out. */
class CallTransport extends StreamableHTTPClientTransport {
  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    const lost = requestContext.getStore()?.lost;
    const isCall = !Array.isArray(message) && 'method' in message && message.method === 'tools/call';
    return super.send(message, isCall && lost !== undefined ? { ...options, onRequestStreamEnd: lost } : options);
  }
}

interface SentCall {
  deps: Pick<McpConnectionDeps, 'callTimeoutMs' | 'maxCallMs'>;
  client: Client;
  /** One per call in flight. */
  inFlight: Set<Elicit>;
  token: RequestToken;
  request: CallRequest;
  signal: AbortSignal;
  ask: AskUser | undefined;
}

async function sendCall({ deps, client, inFlight, token, request, signal, ask }: SentCall): Promise<CallToolResult> {
  const received: Received = {};
  let end = new AbortController();
  const times = createCallTimes({ idleMs: deps.callTimeoutMs, totalMs: deps.maxCallMs }, () =>
    end.abort(new SdkError(SdkErrorCode.RequestTimeout, 'the call took too long')),
  );
  const elicit = ask && createElicitation((question) => times.without(() => ask(question)));
  // Also a call that cannot ask: whose question it is would be unknown.
  const asked: Elicit = elicit ?? (() => Promise.resolve({ action: 'cancel' }));
  inFlight.add(asked);

  function send(): Promise<CallToolResult> {
    // The response of a rejected attempt ends later.
    const attempt = (end = new AbortController());
    const lost = (): void => attempt.abort(new SdkError(SdkErrorCode.ConnectionClosed, 'the response ended'));
    const context = { token, received, lost, ...(elicit === undefined ? {} : { elicit }) };
    const options = {
      signal: AbortSignal.any([signal, attempt.signal]),
      timeout: UNLIMITED_MS,
      onprogress: times.progress,
    };
    return requestContext.run(context, () => client.callTool(request, options));
  }

  try {
    return await send().catch(async (error: unknown) => {
      // The server rejects the call until the user has opened an address.
      if (!(error instanceof UrlElicitationRequiredError) || elicit === undefined) throw error;
      if (!(await openRequired(error.elicitations, elicit))) throw new McpFailure(NOT_OPENED, received);
      return send();
    });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UrlElicitationRequiredError) throw new McpFailure(NOT_OPENED, received, { cause: error });
    throw error instanceof ProtocolError ? error : toFailure(error, received);
  } finally {
    inFlight.delete(asked);
    times.end();
  }
}

/**
 * Connections to an MCP server over streamable HTTP. Requests share a connection, and a failed one affects no other: a
 * connection that is broken is replaced, and closed after its last request.
 */
export function createMcpConnections(deps: McpConnectionDeps): McpConnections {
  const { endpoint, listTimeoutMs, asks } = deps;
  const observedFetch = observed(deps.fetch ?? fetch);
  let current: Promise<Connection> | undefined;
  const inFlight = new Set<Elicit>();

  async function connect(token: RequestToken): Promise<Connection> {
    const client = new Client(deps.client, {
      versionNegotiation: { mode: 'auto' },
      capabilities: asks !== undefined ? { elicitation: { form: {}, url: {} } } : {},
      inputRequired: { autoFulfill: asks !== undefined },
      listMaxPages: MAX_PAGES,
      // A list without a time to live is valid as long as the connection.
      defaultCacheTtlMs: deps.listTtlMs ?? MAX_CACHE_TTL_MS,
    });
    if (asks !== undefined)
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        const [only, ...others] = asks === 'one user' ? inFlight : [];
        const { elicit } = requestContext.getStore() ?? {};
        return (await (elicit ?? (others.length === 0 ? only : undefined))?.(params)) ?? { action: 'cancel' };
      });
    if (deps.listChanged !== undefined)
      client.setNotificationHandler('notifications/tools/list_changed', deps.listChanged);
    const authProvider = { token: () => Promise.resolve(requestContext.getStore()?.token() ?? deps.token) };
    const transport = new CallTransport(new URL(endpoint), { authProvider, fetch: observedFetch });
    const received: Received = {};
    try {
      await requestContext.run({ token, received }, () => client.connect(transport, { timeout: listTimeoutMs }));
      return { client, requests: 0, retired: false, listens: false };
    } catch (error) {
      await client.close();
      throw notExecuted(error, received);
    }
  }

  /** Concurrent requests share one attempt, unless it failed because of another request's token. */
  async function connection(token: RequestToken): Promise<Connection> {
    const shared = current;
    if (shared !== undefined) {
      try {
        return await shared;
      } catch (error) {
        if (!(error instanceof McpFailure) || error.status !== 401) throw error;
      }
    }
    const own = (current ??= connect(token));
    own.catch(() => {
      if (current === own) current = undefined;
    });
    return own;
  }

  async function retire(connected: Connection): Promise<void> {
    connected.retired = true;
    const shared = await current?.catch(() => undefined);
    if (shared === connected) current = undefined;
    if (connected.requests === 0) await connected.client.close();
  }

  async function use<T>(connected: Connection, task: () => Promise<T>): Promise<T> {
    connected.requests += 1;
    try {
      return await task();
    } catch (error) {
      if (error instanceof McpFailure && error.disconnected) void retire(connected);
      throw error;
    } finally {
      connected.requests -= 1;
      if (connected.retired && connected.requests === 0) void connected.client.close();
    }
  }

  async function list(token: RequestToken): Promise<ListedTools> {
    const connected = await connection(token);
    if (deps.keepsStream === true) listen(connected, token, listTimeoutMs);
    return use(connected, async () => {
      const received: Received = {};
      const listing = newListing();
      const request = () => connected.client.listTools(undefined, { timeout: listTimeoutMs });
      try {
        const { tools } = await requestContext.run({ token, received, listing }, request);
        // The connection keeps this list; a new connection reads the list again.
        if (tools.length > MAX_TOOLS) throw new McpFailure(TOO_MANY_TOOLS, received, { disconnected: true });
        return { tools, unusable: listing.unusable };
      } catch (error) {
        throw notExecuted(error, received);
      }
    });
  }

  return {
    list: (token, signal) => unlessAborted(list(token), signal),

    async call(token, request, signal, ask) {
      const connected = await unlessAborted(connection(token), signal);
      return use(connected, () => sendCall({ deps, client: connected.client, inFlight, token, request, signal, ask }));
    },

    async close() {
      const connected = await current?.catch(() => undefined);
      current = undefined;
      await connected?.client.close();
    },
  };
}

/** Opens the stream for changes, unless it is open: servers and proxies end it at any time. */
function listen(connected: Connection, token: RequestToken, timeout: number): void {
  const { client } = connected;
  const isOffered = client.getProtocolEra() === 'modern' && client.getServerCapabilities()?.tools?.listChanged === true;
  if (!isOffered || connected.listens) return;
  connected.listens = true;
  requestContext
    .run({ token, received: {} }, () => client.listen({ toolsListChanged: true }, { timeout }))
    .then(({ closed }) => closed)
    // The next list tries again.
    .catch(() => undefined)
    .finally(() => (connected.listens = false));
}

/** A failure without effects. */
function notExecuted(error: unknown, received: Received): McpFailure {
  const failure = toFailure(error, received);
  const { status, retryAfterMs, neededScopes, cause } = failure;
  const isLost = failure.message === CLOSED;
  const disconnected = failure.disconnected || isLost;
  return new McpFailure(
    isLost ? UNREACHABLE : failure.message,
    { status, retryAfterMs, neededScopes },
    { cause, disconnected },
  );
}
