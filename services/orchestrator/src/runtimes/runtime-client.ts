import { createPrivateKey, type KeyObject } from 'node:crypto';
import { connect as connectSocket, type Socket } from 'node:net';
import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import {
  AgentRuntime,
  type RunTurnRequest,
  type SummarizeRequest,
  type SummarizeResponse,
  type TurnEvent,
} from '@uswarm/runtime-proto';
import { signCallToken, traceHeaders } from '@uswarm/service-kit';
import { type CommitStream, openCommitStream, type TurnCommit } from './commit-stream.js';
import { establish } from './establish.js';

export interface RuntimeTarget {
  workspaceId: string;
  /** `http://host:port` */
  address: string;
}

export interface RuntimeIdentity {
  instanceId: string;
  /** Optional protocol parts that the runtime implements; none for release 0.2. */
  features: readonly string[];
  /** Absent for runtimes that report none. */
  windows?: RuntimeWindows;
}

/** Context windows that only the runtime knows, in tokens. */
export interface RuntimeWindows {
  /** Set by the operator for all models; 0 if there is none. */
  contextWindow: number;
  /** Smaller windows that model servers have stated. */
  windows: readonly { model: string; tokens: number }[];
}

export interface IdentifyOptions {
  /** The platform has just reported the runtime as ready: refused connections are retried for about a second. */
  becameReady?: boolean;
}

export interface TurnInRuntime {
  turnId: string;
  generation: number;
}

export interface RuntimeActivity {
  busy: boolean;
  turns: readonly TurnInRuntime[];
  idleMs: number;
}

/** The gRPC client for runtimes. Errors are ConnectErrors. */
export interface RuntimeClient {
  /** @throws ConnectError `unavailable` also if the runtime of another workspace responds at the address */
  identify(target: RuntimeTarget, signal?: AbortSignal, options?: IdentifyOptions): Promise<RuntimeIdentity>;
  status(target: RuntimeTarget, signal?: AbortSignal): Promise<RuntimeActivity>;
  runTurn(target: RuntimeTarget, request: RunTurnRequest, signal: AbortSignal): AsyncIterable<TurnEvent>;
  /** Cancels a turn. The `runTurn` stream still reports its final status. */
  stopTurn(target: RuntimeTarget, turn: TurnInRuntime, signal?: AbortSignal): Promise<void>;
  /**
   * Reports stored events up to `committedThrough`, so that the turn continues after a barrier, and results for tool
   * requests. Call it only while `runTurn` reads the turn's events: it uses the same connection.
   */
  advance(commit: TurnCommit): Promise<void>;
  /**
   * Replaces a running turn's tool token and model token. @throws ConnectError `unimplemented` for runtimes of release
   * 0.2
   */
  renewToolToken(
    target: RuntimeTarget,
    renewal: TurnInRuntime & { toolToken: string; modelToken: string },
    signal?: AbortSignal,
  ): Promise<void>;
  /** Writes a summary or a title. @throws ConnectError `unimplemented` for runtimes of release 0.2 */
  summarize(target: RuntimeTarget, request: SummarizeRequest, signal: AbortSignal): Promise<SummarizeResponse>;
  /** Closes the connections to a deleted runtime. */
  forget(workspaceId: string): void;
  close(): void;
}

export interface PoolClient {
  /** Makes a runtime from a pool serve the workspace. @throws ConnectError also if it serves another one */
  bind(pool: { member: string; address: string }, workspaceId: string): Promise<void>;
}

const CALL_MS = 3_000;
/** A new process starts in about this time. */
const BIND_MS = 1_000;
/** A call token is used again for this many ms, which is much shorter than it is valid. */
const REUSE_TOKEN_MS = 20_000;
/** Allows for a model call with retries. */
const SUMMARIZE_MS = 180_000;
/** Allows for an event with a journal's largest entry. */
const READ_BYTES = 8 * 1024 * 1024;
/** Allows for a request with the largest journal. */
const WRITE_BYTES = 20 * 1024 * 1024;
/** Megabytes that a connection buffers. Node's default of 10 is less than one request. */
const SESSION_MB = 64;

interface Connection {
  client: Client<typeof AgentRuntime>;
  session: Http2SessionManager;
  /** Index of the key that the runtime last accepted. */
  key: number;
  uses: number;
}

interface Followed {
  connection: Connection;
  /** Opens the turn's commit stream on the first call. */
  commits: () => CommitStream;
}

/** Milliseconds for a connection. */
const CONNECT_MS = 5_000;

/**
 * Opens a socket. Packets to a pod that has just left its node can be dropped, and kube-proxy keeps sending a connection to
 * the same pod: without a limit, TCP would try for two minutes. A new connection reaches the next pod.
 */
function connectInTime({ hostname, port }: URL): Socket {
  const socket = connectSocket({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port === '' ? 80 : port) });
  // The client reports this code as UNAVAILABLE.
  const late = Object.assign(new Error(`no connection within ${CONNECT_MS} ms`), { code: 'ETIMEDOUT' });
  const timer = setTimeout(() => socket.destroy(late), CONNECT_MS);
  const stop = (): void => clearTimeout(timer);
  return socket.once('connect', stop).once('close', stop);
}

const isUnavailable = (error: unknown): boolean => error instanceof ConnectError && error.code === Code.Unavailable;
const isRefused = (error: unknown): boolean => error instanceof ConnectError && error.code === Code.Unauthenticated;

/**
 * @param callPrivateKeys PEM; the first key is the current one. During a rotation, the next key is used for a runtime
 *   that rejects the first one.
 */
export function createRuntimeClient(callPrivateKeys: readonly string[]): RuntimeClient & PoolClient {
  const keys = callPrivateKeys.map((pem) => createPrivateKey(pem));
  const connections = new Map<string, Connection>();
  /** Get no new calls, and are kept until their open streams end. */
  const retired = new Map<Connection, string>();
  /** By turn: no other connection reaches a pod that shuts down. */
  const following = new Map<string, Followed>();

  function connect(target: RuntimeTarget): Connection {
    const { workspaceId, address } = target;
    const name = nameOf(target);
    const known = connections.get(name);
    if (known !== undefined) return known;
    let signed: { key: KeyObject; token: string; at: number } | undefined;
    const authorize: Interceptor = (next) => async (request) => {
      const key = keys[connection.key];
      if (key === undefined) throw new Error('no key for calls to runtimes');
      if (signed?.key !== key || performance.now() - signed.at > REUSE_TOKEN_MS) {
        const token = await signCallToken(key, { subject: 'orchestrator', audience: workspaceId });
        signed = { key, token, at: performance.now() };
      }
      request.header.set('authorization', `Bearer ${signed.token}`);
      for (const [header, value] of Object.entries(traceHeaders())) request.header.set(header, value);
      return next(request);
    };
    // Pings detect a dead peer. Unused connections are closed.
    const session = new Http2SessionManager(
      address,
      { pingIntervalMs: 5_000, pingTimeoutMs: 5_000, idleConnectionTimeoutMs: 60_000 },
      { maxSessionMemory: SESSION_MB, createConnection: connectInTime },
    );
    const transport = createGrpcTransport({
      baseUrl: address,
      sessionManager: session,
      interceptors: [authorize],
      readMaxBytes: READ_BYTES,
      writeMaxBytes: WRITE_BYTES,
    });
    const connection: Connection = { client: createClient(AgentRuntime, transport), session, key: 0, uses: 0 };
    closeOldest(workspaceId);
    connections.set(name, connection);
    return connection;
  }

  /**
   * Runs `use` with the connection. After UNAVAILABLE the next call opens a new connection: the old one stays with the
   * pod that shuts down, the new one reaches its replacement.
   */
  async function* using<T>(
    target: RuntimeTarget,
    connection: Connection,
    use: (client: Connection['client']) => AsyncIterable<T>,
  ): AsyncGenerator<T, void> {
    connection.uses += 1;
    try {
      // Tries each other key once.
      for (let tries = 1; ; tries += 1) {
        const used = connection.key;
        try {
          yield* use(connection.client);
          return;
        } catch (error) {
          // A refused call has not returned any message, so a retry repeats none.
          if (!isRefused(error) || tries >= keys.length) throw error;
          connection.key = (used + 1) % keys.length;
        }
      }
    } catch (error) {
      if (isUnavailable(error)) retire(target, connection);
      throw error;
    } finally {
      connection.uses -= 1;
      if (connection.uses === 0 && retired.delete(connection)) connection.session.abort();
    }
  }

  async function call<T>(
    target: RuntimeTarget,
    run: (client: Connection['client']) => Promise<T>,
    connection = connect(target),
  ): Promise<T> {
    async function* once(client: Connection['client']): AsyncGenerator<T, void> {
      yield await run(client);
    }
    for await (const response of using(target, connection, once)) return response;
    throw new Error('a call to a runtime returned no response');
  }

  async function* follow(
    target: RuntimeTarget,
    request: RunTurnRequest,
    signal: AbortSignal,
  ): AsyncGenerator<TurnEvent, void> {
    const connection = connect(target);
    const { advance } = connection.client;
    let commits: CommitStream | undefined;
    const followed: Followed = {
      connection,
      commits: () => (commits ??= openCommitStream({ advance, signal, timeoutMs: CALL_MS })),
    };
    following.set(request.turnId, followed);
    try {
      yield* using(target, connection, (client) => client.runTurn(request, { signal }));
    } finally {
      commits?.end();
      if (following.get(request.turnId) === followed) following.delete(request.turnId);
    }
  }

  const followedOver = (turnId: string): Connection | undefined => following.get(turnId)?.connection;

  const nameOf = ({ workspaceId, address }: RuntimeTarget): string => `${workspaceId} ${address}`;

  function retire(target: RuntimeTarget, connection: Connection): void {
    const name = nameOf(target);
    if (connections.get(name) !== connection) return;
    connections.delete(name);
    if (connection.uses === 0) connection.session.abort();
    else retired.set(connection, name);
  }

  /** Keeps the latest connection: a runtime that moves is called at both addresses for a short time. */
  function closeOldest(workspaceId: string): void {
    for (const name of namesOf(workspaceId).slice(0, -1)) drop(name);
  }

  const namesOf = (workspaceId: string): string[] =>
    [...connections.keys()].filter((name) => name.startsWith(`${workspaceId} `));

  function drop(name: string): void {
    connections.get(name)?.session.abort();
    connections.delete(name);
  }

  /** Includes retired connections. */
  function dropAll(workspaceId: string): void {
    for (const name of namesOf(workspaceId)) drop(name);
    for (const [{ session }, name] of retired) if (name.startsWith(`${workspaceId} `)) session.abort();
  }

  const short = (signal?: AbortSignal) => ({ timeoutMs: CALL_MS, ...(signal === undefined ? {} : { signal }) });

  return {
    async identify(target, signal, { becameReady } = {}) {
      const discard = (connection: Connection): void => retire(target, connection);
      await establish({ open: () => connect(target), discard, retryRefused: becameReady, signal });
      const identity = await call(target, (client) => client.identify({}, short(signal)));
      if (identity.workspaceId !== target.workspaceId) {
        throw new ConnectError('the runtime of another workspace responds at this address', Code.Unavailable);
      }
      const { instanceId, features, contextWindow, windows } = identity;
      return { instanceId, features, windows: { contextWindow, windows } };
    },
    async status(target, signal) {
      const { busy, turns, idleMs } = await call(target, (client) => client.status({}, short(signal)));
      return { busy, turns: turns.map(({ turnId, generation }) => ({ turnId, generation })), idleMs: Number(idleMs) };
    },
    async bind({ member, address }, workspaceId) {
      try {
        await call({ workspaceId: member, address }, (client) => client.bind({ workspaceId }, { timeoutMs: BIND_MS }));
      } finally {
        dropAll(member);
      }
    },
    async stopTurn(target, turn, signal) {
      await call(target, (client) => client.stopTurn(turn, short(signal)), followedOver(turn.turnId));
    },
    async advance(commit) {
      const followed = following.get(commit.turnId);
      if (followed === undefined)
        throw new ConnectError('the events of the turn are not read', Code.FailedPrecondition);
      await followed.commits().send(commit);
    },
    async renewToolToken(target, renewal, signal) {
      await call(target, (client) => client.renewToolToken(renewal, short(signal)), followedOver(renewal.turnId));
    },
    summarize: (target, request, signal) =>
      call(target, (client) => client.summarize(request, { timeoutMs: SUMMARIZE_MS, signal })),
    runTurn: follow,
    forget: dropAll,
    close() {
      for (const { session } of [...connections.values(), ...retired.keys()]) session.abort();
      connections.clear();
    },
  };
}
