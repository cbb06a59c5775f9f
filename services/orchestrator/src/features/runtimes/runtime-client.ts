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
}

const isRefused = (error: unknown): boolean => error instanceof ConnectError && error.code === Code.Unauthenticated;

/**
 * @param callPrivateKeys PEM; first the one whose public half new runtimes get. While keys are rotated,
 *   a runtime that does not accept it is called with the next.
 */
export function createRuntimeClient(callPrivateKeys: readonly string[]): RuntimeClient {
  const keys = callPrivateKeys.map((pem) => createPrivateKey(pem));
  const connections = new Map<string, Connection>();

  function connect({ workspaceId, address }: RuntimeTarget): Connection {
    const name = `${workspaceId} ${address}`;
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
    const connection: Connection = { client: createClient(AgentRuntime, transport), session, key: 0 };
    forgetOldest(workspaceId);
    connections.set(name, connection);
    return connection;
  }

  /** Calls once more with each other key that the runtime may have been given. */
  async function call<T>(target: RuntimeTarget, run: (client: Connection['client']) => Promise<T>): Promise<T> {
    const connection = connect(target);
    for (let tries = 1; ; tries += 1) {
      const used = connection.key;
      try {
        return await run(connection.client);
      } catch (error) {
        if (!isRefused(error) || tries >= keys.length) throw error;
        connection.key = (used + 1) % keys.length;
      }
    }
  }

  async function* follow(
    target: RuntimeTarget,
    request: RunTurnRequest,
    signal: AbortSignal,
  ): AsyncGenerator<TurnEvent, void> {
    const connection = connect(target);
    for (let tries = 1; ; tries += 1) {
      const used = connection.key;
      try {
        yield* connection.client.runTurn(request, { signal });
        return;
      } catch (error) {
        // It refuses before it says anything.
        if (!isRefused(error) || tries >= keys.length) throw error;
        connection.key = (used + 1) % keys.length;
      }
    }
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
      await call(target, (client) => client.stopTurn(turn, short(signal)));
    },
    async renewToolToken(target, renewal, signal) {
      await call(target, (client) => client.renewToolToken(renewal, short(signal)));
    },
    runTurn: follow,
    forget: (workspaceId) => namesOf(workspaceId).forEach(drop),
    close() {
      for (const { session } of connections.values()) session.abort();
      connections.clear();
    },
  };
}
