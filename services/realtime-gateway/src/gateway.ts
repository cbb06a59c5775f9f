import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server as HttpServer } from 'node:http';
import { ApiError, LIMITS } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import { type DefaultEventsMap, type Namespace, Server, type Socket } from 'socket.io';
import { createAdmission } from './features/connection/admission.js';
import { createClientAddress } from './features/connection/client-address.js';
import { connectError, createHandshake, type SessionData } from './features/connection/handshake.js';
import { createSession, type SessionDeps } from './features/connection/session.js';
import { departAll } from './features/connection/departure.js';
import { toErrorBody } from './error-body.js';
import type { ServerToClientEvents } from './server-events.js';
import { DEFAULT_SETTINGS, type GatewaySettings } from './settings.js';
import { systemTimers, type Timers } from './timers.js';

export interface GatewayDeps extends Omit<SessionDeps, 'settings' | 'timers'> {
  /** Stays the caller's: the gateway neither listens nor closes it. Mount other handlers first. */
  httpServer: HttpServer;
  settings?: Partial<GatewaySettings>;
  /** A check of the caller before a connection is taken up, such as of the `Host` header. */
  admit?: (request: IncomingMessage) => boolean;
  timers?: Timers;
}

export interface Gateway {
  /** Refuses new connections and sends the clients away over `shutdownWindowMs`. */
  close(): Promise<void>;
}

type GatewaySocket = Socket<DefaultEventsMap, ServerToClientEvents, DefaultEventsMap, SessionData>;
type GatewayServer = Server<DefaultEventsMap, ServerToClientEvents, DefaultEventsMap, SessionData>;

const CONNECT_TIMEOUT_MS = 10_000;

/** Serves the realtime interface: namespace `/v1` at `/socket.io/`. spec: orchestrator §4.6, §6 */
export function createGateway({
  httpServer,
  settings: changed,
  admit = () => true,
  timers = systemTimers,
  ...deps
}: GatewayDeps): Gateway {
  const settings = { ...DEFAULT_SETTINGS, ...changed };
  let accepting = true;
  const refusalOf = createAdmission({ allowedOrigins: settings.allowedOrigins, accepting: () => accepting, admit });
  const io: GatewayServer = new Server(httpServer, {
    path: '/socket.io/',
    transports: [...settings.transports],
    serveClient: false,
    perMessageDeflate: false,
    httpCompression: false,
    maxHttpBufferSize: LIMITS.bodyBytes,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(settings.allowedOrigins.length > 0 && { cors: { origin: [...settings.allowedOrigins] } }),
    allowRequest(request, answer) {
      const refusal = refusalOf(request);
      answer(refusal, refusal === undefined);
    },
  });

  const namespace = io.of('/v1');
  const handshake = createHandshake({ ...deps, clientAddress: createClientAddress(settings.trustedProxies) });
  namespace.use(async (socket, next) => next(await handshake(socket)));
  namespace.on('connection', (socket) => serve(socket, { ...deps, settings, timers }));
  refuseDefaultNamespace(io, deps.logger);

  return {
    async close() {
      accepting = false;
      await departAll(namespace.sockets.values(), settings.shutdownWindowMs);
      // And those whose handshake was under way.
      io.engine.close();
    },
  };
}

function serve(socket: GatewaySocket, deps: SessionDeps): void {
  forgetHandshake(socket);
  deps.metrics.sockets.inc();
  const session = createSession(
    socket.data,
    {
      emit: (event, payload) => {
        if (socket.connected) (socket as Pick<Socket, 'emit'>).emit(event, payload);
      },
      disconnect: () => socket.disconnect(true),
    },
    deps,
  );
  socket.onAny(session.dispatch);
  socket.once('disconnect', () => {
    deps.metrics.sockets.dec();
    session.close();
  });
}

/** Credentials are not kept beyond the handshake, and an idle socket costs a third less memory. */
function forgetHandshake(socket: GatewaySocket): void {
  socket.handshake.headers = {};
  socket.handshake.auth = {};
  socket.handshake.query = {};
  Object.assign(socket.conn, { request: null });
}

/** Everybody who reaches the port may join the namespace `/`; nothing is served there. */
function refuseDefaultNamespace(io: GatewayServer, logger: Logger): void {
  const everything: Namespace = io.of('/');
  everything.use((_socket, next) => {
    next(connectError(toErrorBody(new ApiError('route_not_found'), randomUUID(), logger)));
  });
}
