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
  /** The runtime is gone for good: drops the connections to it. */
  forget(workspaceId: string): void;
  close(): void;
}

const CALL_MS = 3_000;
const MESSAGE_BYTES = 4 * 1024 * 1024;

interface Connection {
  client: Client<typeof AgentRuntime>;
  session: Http2SessionManager;
}

export function createRuntimeClient(callPrivateKey: string): RuntimeClient {
  const key = createPrivateKey(callPrivateKey);
  const connections = new Map<string, Connection>();

  function connect({ workspaceId, address }: RuntimeTarget): Client<typeof AgentRuntime> {
    const name = `${workspaceId} ${address}`;
    const known = connections.get(name);
    if (known !== undefined) return known.client;
    const authorize: Interceptor = (next) => async (request) => {
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
    const client = createClient(AgentRuntime, transport);
    forgetOldest(workspaceId);
    connections.set(name, { client, session });
    return client;
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
      const answer = await connect(target).identify({}, short(signal));
      if (answer.workspaceId !== target.workspaceId) {
        throw new ConnectError('another workspace answers at this address', Code.Unavailable);
      }
      return { instanceId: answer.instanceId };
    },
    async status(target, signal) {
      const { busy, idleMs } = await connect(target).status({}, short(signal));
      return { busy, idleMs: Number(idleMs) };
    },
    async stopTurn(target, turn, signal) {
      await connect(target).stopTurn(turn, short(signal));
    },
    runTurn: (target, request, signal) => connect(target).runTurn(request, { signal }),
    forget: (workspaceId) => namesOf(workspaceId).forEach(drop),
    close() {
      for (const { session } of connections.values()) session.abort();
      connections.clear();
    },
  };
}
