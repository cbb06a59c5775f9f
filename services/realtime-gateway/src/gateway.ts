import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http';
import { ApiError, LIMITS, SessionEnd } from '@uswarm/contract';
import { type EventBus, SESSION_END_EVENT } from '@uswarm/event-bus';
import {
  corsOriginOption,
  createClientAddress,
  createTaskQueue,
  type Logger,
  type ServiceCredential,
  type SigningKey,
  transportSecurity,
} from '@uswarm/service-kit';
import { type Namespace, Server } from 'socket.io';
import { type Admission, createAdmission } from './features/connection/admission.js';
import { REFUSALS } from './metrics/labels.js';
import { connectError, createHandshake } from './features/connection/handshake.js';
import { createPendingConnections } from './features/connection/pending-connections.js';
import { type GatewayServer, serve, type ServeDeps } from './features/connection/serve.js';
import type { SessionDeps } from './features/connection/session.js';
import { drainConnections } from './features/connection/drain-connections.js';
import { checkSessions } from './features/connection/session-check.js';
import { forwardPeerSessions, type PeerSessions } from './features/connection/peer-sessions.js';
import { createSessionIds, type SessionIds } from './features/connection/session-ids.js';
import { createResumeTokens } from './features/connection/resume-token.js';
import { createResumption } from './features/connection/resumption.js';
import { createSessionRegistry, type SessionRegistry } from './features/connection/session-registry.js';
import { toErrorBody } from './error-body.js';
import { forwardUserEvents } from './features/connection/user-events.js';
import { createUserSockets, END_EVENT, type UserSockets } from './features/connection/user-sockets.js';
import { EventStream } from './features/stream/event-stream.js';
import { serveStreams, type StreamEngine } from './features/stream/streams.js';
import { createHubs } from './features/hub/hubs.js';
import { createPositionReports } from './features/hub/position-reports.js';
import type { GatewayMetrics } from './metrics/gateway-metrics.js';
import { DEFAULT_SETTINGS, type GatewaySettings } from './settings.js';
import { systemTimers, type Timers } from './timers.js';

export interface GatewayDeps extends Omit<
  SessionDeps,
  'settings' | 'timers' | 'hubs' | 'positionReports' | 'now' | 'resumeTokens' | 'sessionRegistry'
> {
  bus: Pick<EventBus, 'subscribe' | 'onReconnect' | 'onSessionEnd' | 'onUserEvent' | 'socketAdapter'>;
  /** Owned by the caller: the gateway neither listens nor closes it. Mount other handlers first. */
  httpServer: HttpServer;
  /** Default: always proven, in a process with the orchestrator. */
  credential?: Pick<ServiceCredential, 'proven'>;
  /** Gateway keys for resume tokens; the first one signs. */
  resumeKeys: readonly SigningKey[];
  /** `<host>:<port>` of this gateway, as other ones reach it. Without it, a session is only known to the gateway that has it. */
  peerAddress?: string | undefined;
  settings?: Partial<GatewaySettings>;
  /** An additional check before a connection is accepted, such as of the `Host` header. */
  admit?: (request: IncomingMessage) => boolean;
  timers?: Timers;
}

export interface Gateway {
  /** Refuses new connections and closes the existing ones at a set rate, within `shutdownWindowMs`. */
  close(): Promise<void>;
}

type GatewayNamespace = ReturnType<GatewayServer['of']>;

/** Longer than a handshake can take. */
const CONNECT_TIMEOUT_MS = 20_000;

/** Serves the realtime API: namespace `/v1` at `/socket.io/`, and `/v1/stream`. */
export function createGateway({
  httpServer,
  credential = { proven: async () => true },
  resumeKeys,
  peerAddress,
  settings: changed,
  admit = () => true,
  timers = systemTimers,
  ...deps
}: GatewayDeps): Gateway {
  const settings = { ...DEFAULT_SETTINGS, ...changed };
  const { bus, logger, metrics } = deps;
  let accepting = true;
  const now = (): number => performance.now();
  const clientAddress = createClientAddress(settings.trustedProxies);
  const handshakeQueue = createTaskQueue({
    concurrent: settings.concurrentHandshakes,
    maxWaiting: settings.queuedHandshakes,
  });
  const pendingConnections = createPendingConnections({
    clientAddress,
    perAddress: settings.unauthenticatedPerAddress,
    packetBytes: { bytes: LIMITS.unauthenticatedPacketBytes, usual: LIMITS.packetBytes },
    timeoutMs: settings.authenticationMs,
    timers,
  });
  const refusalOf = createAdmission({
    corsOrigins: settings.corsOrigins,
    accepting: () => accepting,
    overloaded: () => handshakeQueue.waiting() >= settings.queuedHandshakes,
    full: pendingConnections.full,
    admit,
  });
  const io = openServer(httpServer, settings, { refusalOf, adapter: bus.socketAdapter, metrics, timers });
  const peerSessions =
    peerAddress === undefined || !settings.transports.includes('polling')
      ? undefined
      : forwardSessions(io, httpServer, createSessionIds(resumeKeys, peerAddress), metrics);
  const namespace = io.of('/v1');
  io.engine.on('connection', pendingConnections.add);
  const resumeTokens = createResumeTokens(resumeKeys);
  const sessionRegistry = createSessionRegistry(now);
  const sessionCheck = checkSessions({
    ...deps,
    open: sessionRegistry.open,
    everyMs: settings.sessionCheckMs,
    retryMs: settings.sessionCheckRetryMs,
    confirmMs: settings.resumeConfirmMs,
    timers,
    now,
  });
  const resume = createResumption({ tokens: resumeTokens, sessionRegistry, sessionCheck, now });
  const handshake = createHandshake({
    ...deps,
    resume,
    credential,
    clientAddress,
    queue: handshakeQueue,
    patienceMs: settings.handshakePatienceMs,
    now,
  });
  namespace.use(async (socket, next) => {
    // A connection has one socket. An app that calls `connect()` twice would get two, which share the request and its end.
    if (!pendingConnections.credentialsReceived(socket.conn)) {
      socket.conn.close();
      next(new Error('the connection has a socket'));
      return;
    }
    const refusal = await handshake(socket);
    // A default client never reconnects after a CONNECT_ERROR, but it does after its transport is closed.
    if (refusal?.transient === true && !isStream(socket.conn)) socket.conn.close();
    else if (refusal === undefined) pendingConnections.authenticated(socket.conn);
    else pendingConnections.refused(socket.conn);
    next(refusal?.error);
  });

  const stopWatching = subscribeToRevocations({ namespace, bus, sessionRegistry, logger });
  const sessionEnders: ServeDeps['sessionEnders'] = new Map();
  forwardUserEvents({ namespace, bus, logger });
  const userSockets = joinUserSockets(namespace, sessionEnders, settings.socketsPerUser, logger);
  const hubs = createHubs({ ...deps, timers, now, options: settings.hubs });
  metrics.observeHubs(hubs);
  const positionReports = createPositionReports({ ...deps, timers, everyMs: settings.positionReportMs });
  const serving = {
    ...deps,
    settings,
    timers,
    now,
    hubs,
    positionReports,
    resumeTokens,
    sessionRegistry,
    clientAddress,
    userSockets,
    sessionEnders,
  };
  namespace.on('connection', (socket) => serve(socket, serving));
  refuseDefaultNamespace(io, logger);

  return {
    async close() {
      accepting = false;
      sessionCheck.stop();
      const rate = { perSecond: settings.shutdownPerSecond, windowMs: settings.shutdownWindowMs };
      await Promise.all([
        drainConnections(sessionEnders.values(), rate, (end) => end('server_leaving')),
        drainConnections(peerSessions?.open() ?? [], rate, (connection) => connection.destroy()),
      ]);
      // Closes connections whose handshake is in progress.
      io.engine.close();
      stopWatching();
      hubs.close();
      positionReports.close();
      // The other gateways no longer send requests to this one.
      for (const { adapter } of [namespace, io.of('/')]) void adapter.close();
    },
  };
}

interface ServerDeps {
  refusalOf: Admission;
  adapter: EventBus['socketAdapter'];
  metrics: Pick<GatewayMetrics, 'connectionsRefused'>;
  timers: Timers;
}

function openServer(
  httpServer: HttpServer,
  settings: GatewaySettings,
  { refusalOf, adapter, metrics, timers }: ServerDeps,
): GatewayServer {
  const io: GatewayServer = new Server(httpServer, {
    path: '/socket.io/',
    transports: [...settings.transports],
    serveClient: false,
    perMessageDeflate: false,
    httpCompression: false,
    maxHttpBufferSize: LIMITS.packetBytes,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(adapter !== undefined && { adapter }),
    ...(settings.corsOrigins.length > 0 && { cors: corsOf(settings.corsOrigins) }),
    allowRequest(request, answer) {
      const reason = refusalOf(request);
      if (reason !== undefined) metrics.connectionsRefused.inc({ reason });
      answer(reason === undefined ? undefined : REFUSALS[reason], reason === undefined);
    },
  });
  const engine = io.engine as unknown as StreamEngine;
  serveStreams({ httpServer, engine, refusalOf, corsOrigins: settings.corsOrigins, metrics, timers });
  // Before all other listeners.
  announceTransportSecurity(httpServer, io, settings.hstsMaxAgeS);
  return io;
}

/** A session that begins as a WebSocket has one connection, so its id needs no address. */
function forwardSessions(
  io: GatewayServer,
  httpServer: HttpServer,
  ids: SessionIds,
  metrics: Pick<GatewayMetrics, 'forwarding' | 'forwardFailures'>,
): PeerSessions {
  const { engine } = io as unknown as { engine: { generateId(request: IncomingMessage): string } };
  const usual = engine.generateId.bind(engine);
  engine.generateId = (request) =>
    request.url?.includes('transport=polling') === true ? ids.generate() : usual(request);
  return forwardPeerSessions({ httpServer, ids, metrics });
}

/** A stream has a response, which can tell the client what happened and when to come back. */
const isStream = ({ transport }: { transport: object }): boolean => transport instanceof EventStream;

/** Pages from listed origins may send the cookie that an edge uses for sticky polling sessions. */
function corsOf(origins: readonly string[]) {
  return { origin: corsOriginOption(origins), credentials: !origins.includes('*') };
}

interface WatchDeps {
  namespace: Pick<GatewayNamespace, 'on'>;
  bus: Pick<EventBus, 'onSessionEnd'>;
  sessionRegistry: Pick<SessionRegistry, 'end'>;
  logger: Pick<Logger, 'error' | 'warn'>;
}

/** Receives session revocations from the adapter or, without one, from the bus. @returns ends the subscription */
function subscribeToRevocations({ namespace, bus, sessionRegistry, logger }: WatchDeps): () => void {
  namespace.on(SESSION_END_EVENT, (end: unknown) => {
    const parsed = SessionEnd.safeParse(end);
    if (parsed.success) sessionRegistry.end(parsed.data);
    else logger.warn({ err: parsed.error }, 'dropped a malformed session revocation');
  });
  const watching = bus.onSessionEnd(sessionRegistry.end);
  watching.catch((error: unknown) => logger.error({ err: error }, 'subscription to session revocations failed'));
  // Not awaited, because there is no subscription while the bus is unavailable.
  return () =>
    void watching.then(
      (stop) => stop(),
      () => undefined,
    );
}

/** Limits the sockets per user across all gateways. */
function joinUserSockets(
  namespace: GatewayNamespace,
  sessionEnders: ServeDeps['sessionEnders'],
  limit: number,
  logger: Logger,
): UserSockets {
  const userSockets = createUserSockets({
    namespace,
    limit,
    end(socketId, code) {
      const end = sessionEnders.get(socketId);
      end?.(code);
      return end !== undefined;
    },
    logger,
  });
  namespace.on(END_EVENT, userSockets.handleEndRequest);
  return userSockets;
}

/** Sets the header on every response, including refusals of engine.io and WebSocket upgrades. */
function announceTransportSecurity(httpServer: HttpServer, io: GatewayServer, maxAgeS: number): void {
  const headers = Object.entries(transportSecurity(maxAgeS));
  httpServer.prependListener('request', (_request, response: ServerResponse) => {
    for (const [name, value] of headers) response.setHeader(name, value);
  });
  io.engine.on('headers', (upgrade: Record<string, string>) => Object.assign(upgrade, Object.fromEntries(headers)));
}

/** Any client can join the namespace `/`, so it is refused explicitly. */
function refuseDefaultNamespace(io: GatewayServer, logger: Logger): void {
  const defaultNamespace: Namespace = io.of('/');
  defaultNamespace.use((_socket, next) => {
    next(connectError(toErrorBody(new ApiError('route_not_found'), randomUUID(), logger)));
  });
}
