import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http';
import { ApiError, LIMITS } from '@uswarm/contract';
import type { EventBus } from '@uswarm/event-bus';
import { createClientAddress, type Logger, transportSecurity } from '@uswarm/service-kit';
import { type DefaultEventsMap, type Namespace, Server, type Socket } from 'socket.io';
import { createAdmission } from './features/connection/admission.js';
import { connectError, createHandshake, type SessionData } from './features/connection/handshake.js';
import { createSession, type SessionDeps } from './features/connection/session.js';
import { departAll } from './features/connection/departure.js';
import { checkSessions } from './features/connection/session-check.js';
import { createSlots } from './features/connection/slots.js';
import { createSessionEnds, type SessionEnds } from './features/connection/session-ends.js';
import { toErrorBody } from './error-body.js';
import { disconnectReason } from './gateway-metrics.js';
import type { ServerToClientEvents } from './server-events.js';
import { DEFAULT_SETTINGS, type GatewaySettings } from './settings.js';
import { systemTimers, type Timers } from './timers.js';

export interface GatewayDeps extends Omit<SessionDeps, 'settings' | 'timers' | 'bus'> {
  bus: Pick<EventBus, 'subscribe' | 'onSessionEnd'>;
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

/** Longer than a handshake can take: its patience and one more call. */
const CONNECT_TIMEOUT_MS = 20_000;

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
  const slots = createSlots({ concurrent: settings.concurrentHandshakes, queued: settings.queuedHandshakes });
  const refusalOf = createAdmission({
    allowedOrigins: settings.allowedOrigins,
    accepting: () => accepting,
    overloaded: () => slots.waiting() >= settings.queuedHandshakes,
    admit,
  });
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

  announceTransportSecurity(httpServer, io, settings.hstsMaxAgeS);

  const namespace = io.of('/v1');
  const now = (): number => performance.now();
  const handshake = createHandshake({
    ...deps,
    clientAddress: createClientAddress(settings.trustedProxies),
    slots,
    patienceMs: settings.handshakePatienceMs,
    now,
  });
  const sessionEnds = createSessionEnds(now);
  const watching = deps.bus.onSessionEnd(sessionEnds.end);
  watching.catch((error: unknown) => deps.logger.error({ err: error }, 'sessions that end cannot be heard of'));
  const stopChecking = checkSessions({
    ...deps,
    open: sessionEnds.open,
    everyMs: settings.sessionCheckMs,
    timers,
  });
  namespace.use(async (socket, next) => {
    const refusal = await handshake(socket);
    // A CONNECT_ERROR would end a default client's attempts for good; a closed transport makes it reconnect.
    if (refusal?.transient === true) socket.conn.close();
    next(refusal?.error);
  });
  namespace.on('connection', (socket) => serve(socket, { ...deps, settings, timers, sessionEnds }));
  refuseDefaultNamespace(io, deps.logger);

  return {
    async close() {
      accepting = false;
      stopChecking();
      await departAll(namespace.sockets.values(), settings.shutdownWindowMs);
      // And those whose handshake was under way.
      io.engine.close();
      // Not waited for: with the bus away there is no subscription to end.
      void watching.then(
        (stop) => stop(),
        () => undefined,
      );
    },
  };
}

/** On every answer: refusals, which engine.io writes by itself, and the upgrade to a WebSocket included. */
function announceTransportSecurity(httpServer: HttpServer, io: GatewayServer, maxAgeS: number): void {
  const headers = Object.entries(transportSecurity(maxAgeS));
  httpServer.prependListener('request', (_request, response: ServerResponse) => {
    for (const [name, value] of headers) response.setHeader(name, value);
  });
  io.engine.on('headers', (upgrade: Record<string, string>) => Object.assign(upgrade, Object.fromEntries(headers)));
}

function serve(socket: GatewaySocket, { sessionEnds, ...deps }: SessionDeps & { sessionEnds: SessionEnds }): void {
  forgetHandshake(socket);
  const leave = sessionEnds.enter({ ...socket.data, close: () => socket.disconnect(true) });
  if (leave === undefined) {
    socket.disconnect(true);
    return;
  }
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
  socket.once('disconnect', (reason) => {
    deps.metrics.sockets.dec();
    deps.metrics.disconnects.inc({ reason: disconnectReason(reason) });
    leave();
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
