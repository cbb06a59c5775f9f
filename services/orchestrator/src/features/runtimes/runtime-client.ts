import { createPrivateKey } from 'node:crypto';
import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { AgentRuntime, type RunTurnRequest, type TurnEvent } from '@uswarm/runtime-proto';
import { signCallToken, traceHeaders } from '@uswarm/service-kit';

/** A runtime, and where it answers. */
export interface RuntimeTarget {
  workspaceId: string;
  /** `http://host:port` */
  address: string;
}

/** Calls to runtimes. Errors are ConnectErrors with their gRPC codes. */
export interface RuntimeClient {
  /** @throws ConnectError `unavailable` also where another workspace answers at that address. */
  identify(target: RuntimeTarget, signal?: AbortSignal): Promise<{ instanceId: string }>;
  /** Whether it works on something, and for how many milliseconds it has not. */
  status(target: RuntimeTarget, signal?: AbortSignal): Promise<{ busy: boolean; idleMs: number }>;
  runTurn(target: RuntimeTarget, request: RunTurnRequest, signal: AbortSignal): AsyncIterable<TurnEvent>;
  /** Asks a turn to end; it still says how it ended, to whoever follows it. */
  stopTurn(target: RuntimeTarget, turn: { turnId: string; generation: number }, signal?: AbortSignal): Promise<void>;
  /** Replaces the tool token of a running turn. @throws ConnectError `unimplemented` for runtimes of release 0.2 */
  renewToolToken(
    target: RuntimeTarget,
    renewal: { turnId: string; generation: number; toolToken: string },
    signal?: AbortSignal,
  ): Promise<void>;
  /** The runtime is gone for good: drops the connections to it. */
  forget(workspaceId: string): void;
  close(): void;
}

const CALL_MS = 3_000;
const MESSAGE_BYTES = 4 * 1024 * 1024;

interface Connection {
  client: Client<typeof AgentRuntime>;
  session: Http2SessionManager;
  /** Which of the keys the runtime was last found to accept. */
  key: number;
  /** Calls and streams in progress. */
  uses: number;
}

const isUnavailable = (error: unknown): boolean => error instanceof ConnectError && error.code === Code.Unavailable;
const isRefused = (error: unknown): boolean => error instanceof ConnectError && error.code === Code.Unauthenticated;

/**
 * @param callPrivateKeys PEM; first the one whose public half new runtimes get. While keys are rotated,
 *   a runtime that does not accept it is called with the next.
 */
export function createRuntimeClient(callPrivateKeys: readonly string[]): RuntimeClient {
  const keys = callPrivateKeys.map((pem) => createPrivateKey(pem));
  const connections = new Map<string, Connection>();
  /** Connections that get no new calls, with the streams that still run over them. */
  const retired = new Map<Connection, string>();
  /** The connection of each turn that is followed: a pod that shuts down is reached by no other. */
  const following = new Map<string, Connection>();

  function connect(target: RuntimeTarget): Connection {
    const { workspaceId, address } = target;
    const name = nameOf(target);
    const known = connections.get(name);
    if (known !== undefined) return known;
    const authorize: Interceptor = (next) => async (request) => {
      const key = keys[connection.key];
      if (key === undefined) throw new Error('there is no key for calls to runtimes');
      const token = await signCallToken(key, { subject: 'orchestrator', audience: workspaceId });
      request.header.set('authorization', `Bearer ${token}`);
      for (const [header, value] of Object.entries(traceHeaders())) request.header.set(header, value);
      return next(request);
    };
    // Pings find a peer that is gone without a word; an unused connection closes by itself.
    const session = new Http2SessionManager(address, {
      pingIntervalMs: 5_000,
      pingTimeoutMs: 5_000,
      idleConnectionTimeoutMs: 60_000,
    });
    const transport = createGrpcTransport({
      baseUrl: address,
      sessionManager: session,
      interceptors: [authorize],
      readMaxBytes: MESSAGE_BYTES,
      writeMaxBytes: MESSAGE_BYTES,
    });
    const connection: Connection = { client: createClient(AgentRuntime, transport), session, key: 0, uses: 0 };
    forgetOldest(workspaceId);
    connections.set(name, connection);
    return connection;
  }

  /**
   * Runs `use` with the connection. After UNAVAILABLE the next call opens another connection: a pod that shuts down
   * keeps the one that it has, and a new one leads to the pod that takes its place.
   */
  async function* using<T>(
    target: RuntimeTarget,
    connection: Connection,
    use: (client: Connection['client']) => AsyncIterable<T>,
  ): AsyncGenerator<T, void> {
    connection.uses += 1;
    try {
      // Calls once more with each other key that the runtime may have been given.
      for (let tries = 1; ; tries += 1) {
        const used = connection.key;
        try {
          yield* use(connection.client);
          return;
        } catch (error) {
          // It refuses before it says anything.
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
    for await (const answer of using(target, connection, once)) return answer;
    throw new Error('a call to a runtime had no answer');
  }

  async function* follow(
    target: RuntimeTarget,
    request: RunTurnRequest,
    signal: AbortSignal,
  ): AsyncGenerator<TurnEvent, void> {
    const connection = connect(target);
    following.set(request.turnId, connection);
    try {
      yield* using(target, connection, (client) => client.runTurn(request, { signal }));
    } finally {
      if (following.get(request.turnId) === connection) following.delete(request.turnId);
    }
  }

  const nameOf = ({ workspaceId, address }: RuntimeTarget): string => `${workspaceId} ${address}`;

  function retire(target: RuntimeTarget, connection: Connection): void {
    const name = nameOf(target);
    if (connections.get(name) !== connection) return;
    connections.delete(name);
    retired.set(connection, name);
  }

  /** A runtime that moves is asked at both places for a while; more than that nobody needs. */
  function forgetOldest(workspaceId: string): void {
    for (const name of namesOf(workspaceId).slice(0, -1)) drop(name);
  }

  const namesOf = (workspaceId: string): string[] =>
    [...connections.keys()].filter((name) => name.startsWith(`${workspaceId} `));

  function drop(name: string): void {
    connections.get(name)?.session.abort();
    connections.delete(name);
  }

  /** Drops the connections to a runtime, also those that are retired. */
  function dropAll(workspaceId: string): void {
    for (const name of namesOf(workspaceId)) drop(name);
    for (const [{ session }, name] of retired) if (name.startsWith(`${workspaceId} `)) session.abort();
  }

  const short = (signal?: AbortSignal) => ({ timeoutMs: CALL_MS, ...(signal === undefined ? {} : { signal }) });

  return {
    async identify(target, signal) {
      const answer = await call(target, (client) => client.identify({}, short(signal)));
      if (answer.workspaceId !== target.workspaceId) {
        throw new ConnectError('another workspace answers at this address', Code.Unavailable);
      }
      return { instanceId: answer.instanceId };
    },
    async status(target, signal) {
      const { busy, idleMs } = await call(target, (client) => client.status({}, short(signal)));
      return { busy, idleMs: Number(idleMs) };
    },
    async stopTurn(target, turn, signal) {
      await call(target, (client) => client.stopTurn(turn, short(signal)), following.get(turn.turnId));
    },
    async renewToolToken(target, renewal, signal) {
      await call(target, (client) => client.renewToolToken(renewal, short(signal)), following.get(renewal.turnId));
    },
    runTurn: follow,
    forget: dropAll,
    close() {
      for (const { session } of [...connections.values(), ...retired.keys()]) session.abort();
      connections.clear();
    },
  };
}
