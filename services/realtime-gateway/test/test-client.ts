import type { ErrorBody, ServerEventName, ServerEventPayload } from '@uswarm/contract';
import { checkServerEvent } from '@uswarm/contract/checks';
import { io, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';

export interface ReceivedEvent {
  name: string;
  payload: unknown;
}

/** A client that records every event and checks it against the contract. */
export interface TestClient {
  socket: Socket;
  events: ReceivedEvent[];
  /** Received event names in order, without `session.ready`. */
  names(): string[];
  /** Resolves with the first payload for this event that `next` has not returned before. */
  next<Name extends ServerEventName>(name: Name): Promise<ServerEventPayload<Name>>;
  /** Sends an event and resolves with the callback's acknowledgement argument. */
  ask(event: string, ...payload: unknown[]): Promise<unknown>;
  /** Resolves with the reason when the connection is closed. */
  disconnected: Promise<string>;
  /** @throws AggregateError if an event violated the contract */
  close(): void;
}

export type ClientOptions = Partial<ManagerOptions & SocketOptions>;

function create(url: string, options: ClientOptions): TestClient {
  const socket = io(`${url}/v1`, {
    transports: ['websocket'],
    forceNew: true,
    reconnection: false,
    autoConnect: false,
    ...options,
  });
  const events: ReceivedEvent[] = [];
  const problems: unknown[] = [];
  const returned = new Set<ReceivedEvent>();
  const waiting: (() => void)[] = [];
  const { promise: disconnected, resolve: onDisconnect } = Promise.withResolvers<string>();
  socket.on('disconnect', onDisconnect);
  socket.onAny((name: string, payload: unknown) => {
    try {
      checkServerEvent(name, payload);
    } catch (error) {
      problems.push(error);
    }
    events.push({ name, payload });
    for (const notify of waiting.splice(0)) notify();
  });
  return {
    socket,
    events,
    disconnected,
    names: () => events.map(({ name }) => name).filter((name) => name !== 'session.ready'),
    async next<Name extends ServerEventName>(name: Name) {
      for (;;) {
        const found = events.find((event) => event.name === name && !returned.has(event));
        if (found !== undefined) {
          returned.add(found);
          return found.payload as ServerEventPayload<Name>;
        }
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    ask: (event, ...payload) => socket.timeout(5_000).emitWithAck(event, ...payload),
    close() {
      socket.close();
      if (problems.length > 0) throw new AggregateError(problems, 'events that violate the contract');
    },
  };
}

export interface ConnectError extends Error {
  data?: ErrorBody;
}

/** @throws the `connect_error` */
export async function connectClient(url: string, options: ClientOptions): Promise<TestClient> {
  const client = create(url, options);
  await new Promise<void>((resolve, reject) => {
    client.socket.once('connect', resolve);
    client.socket.once('connect_error', (error) => {
      client.socket.close();
      reject(error);
    });
    client.socket.connect();
  });
  return client;
}
