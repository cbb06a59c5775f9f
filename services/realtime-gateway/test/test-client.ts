import type { ErrorBody, ServerEventName, ServerEventPayload } from '@uswarm/contract';
import { checkServerEvent } from '@uswarm/contract/checks';
import { io, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';

export interface SeenEvent {
  name: string;
  payload: unknown;
}

/** A client that remembers every event, each checked against the contract. */
export interface TestClient {
  socket: Socket;
  events: SeenEvent[];
  /** The names of the events so far, in order. */
  names(): string[];
  /** The payload of the first event with this name that `next` has not given yet. */
  next<Name extends ServerEventName>(name: Name): Promise<ServerEventPayload<Name>>;
  /** Sends an event and resolves with what comes to the acknowledgement callback. */
  ask(event: string, ...payload: unknown[]): Promise<unknown>;
  /** Resolves with the reason once the connection ends. */
  disconnected: Promise<string>;
  /** @throws what the contract found wrong with an event. */
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
  const events: SeenEvent[] = [];
  const problems: unknown[] = [];
  const given = new Set<SeenEvent>();
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
    for (const look of waiting.splice(0)) look();
  });
  return {
    socket,
    events,
    disconnected,
    names: () => events.map(({ name }) => name),
    async next<Name extends ServerEventName>(name: Name) {
      for (;;) {
        const found = events.find((event) => event.name === name && !given.has(event));
        if (found !== undefined) {
          given.add(found);
          return found.payload as ServerEventPayload<Name>;
        }
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    ask: (event, ...payload) => socket.timeout(5_000).emitWithAck(event, ...payload),
    close() {
      socket.close();
      if (problems.length > 0) throw new AggregateError(problems, 'events that are not documented');
    },
  };
}

export interface ConnectError extends Error {
  data?: ErrorBody;
}

/** Connects. @throws the `connect_error`. */
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
