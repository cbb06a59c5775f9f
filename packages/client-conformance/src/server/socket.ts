import type { Server as HttpServer } from 'node:http';
import { ERRORS } from '@uswarm/contract';
import { Server, type Socket } from 'socket.io';
import { clientEventProblem, errorBody, serverEvent, withLaterCode } from './checks.js';
import type { Connection } from './connection.js';
import type { ScriptedServer, SendResult } from './scripted-server.js';

export interface Pings {
  intervalMs: number;
  /** After which a connection without an answer is lost. */
  timeoutMs: number;
}

/** Serves the namespace `/v1`, as the gateway does. @returns closes it */
export function serveSockets(http: HttpServer, server: ScriptedServer, pings: Pings): () => void {
  const io = new Server(http, {
    path: '/socket.io/',
    serveClient: false,
    perMessageDeflate: false,
    pingInterval: pings.intervalMs,
    pingTimeout: pings.timeoutMs,
  });
  const namespace = io.of('/v1');
  namespace.use((socket, next) => {
    const { token, resumeToken } = credentialsOf(socket);
    server.connected('socket', token ?? '', resumeToken);
    const refusal = server.plannedFailure('connect') ?? server.refusal(token, resumeToken);
    if (refusal === undefined) return next();
    // A transient refusal closes the transport: default clients never reconnect after a `connect_error`.
    if (refusal === 'transient' || ERRORS[refusal.code].retryable) return void socket.conn.close();
    next(Object.assign(new Error(ERRORS[refusal.code].message), { data: errorBody(refusal) }));
  });
  namespace.on('connection', (socket) => serve(socket, server));
  return () => void io.close();
}

function credentialsOf({ handshake, request }: Socket) {
  const { 'x-token': token, authorization, resume_token: resumeToken } = handshake.auth as Record<string, string>;
  const header = request.headers['x-token'];
  const bearer = (authorization ?? request.headers.authorization)?.replace(/^Bearer +/i, '');
  return { token: token ?? (typeof header === 'string' ? header : undefined) ?? bearer, resumeToken };
}

function serve(socket: Socket, server: ScriptedServer): void {
  let isFrozen = false;
  const connection: Connection = {
    transport: 'socket',
    subscribed: false,
    emit: ({ name, payload }) => void (isFrozen || socket.emit(name, payload)),
    cut() {
      server.left(connection);
      const { socket: webSocket } = transportOf(socket);
      socket.conn.close(true);
      webSocket?.terminate();
    },
    close: (reconnect) => (reconnect ? socket.conn.close() : socket.disconnect(true)),
    freeze() {
      isFrozen = true;
      connection.subscribed = false;
      server.left(connection);
      silence(socket);
    },
  };
  socket.on('disconnect', () => server.left(connection));
  socket.use(([name, payload]: unknown[], next) => {
    if (isFrozen) return;
    const problem = clientEventProblem(String(name), payload);
    if (problem === undefined) next();
    else server.seen.violations.push(problem);
  });
  server.admit(connection, credentialsOf(socket).resumeToken !== undefined);
  socket.on('workspace.subscribe', ({ workspace_ids: ids = [], since = {} }: Subscribe) => {
    const { workspaceId } = server.world;
    if (!ids.includes(workspaceId)) return server.seen.violations.push('The client subscribed to another workspace');
    const position = since[workspaceId];
    const known = position === undefined ? undefined : String(position);
    server.subscribe(connection, known, known === undefined ? undefined : 'since');
  });
  socket.on('session.renew', ({ credentials = {} }: { credentials?: Record<string, string> }) => {
    const token = credentials['x-token'] ?? credentials['authorization']?.replace(/^Bearer +/i, '') ?? '';
    server.renew(connection, token);
  });
  socket.on('message.send', (message: { local_id: string; content: { text?: string } }) => {
    const { local_id: localId, content } = message;
    const answered = server.send({ localId, text: content.text ?? '', by: 'socket' });
    void answered.then((result) => answer(connection, localId, result));
  });
}

interface Subscribe {
  workspace_ids?: string[];
  since?: Record<string, string | number>;
}

function answer(connection: Connection, localId: string, result: SendResult | undefined): void {
  if (result === undefined) return;
  if ('messageId' in result) {
    const ack = { local_id: localId, message_id: result.messageId, status: 'received' };
    connection.emit(serverEvent('message.send.ack', ack));
    return result.event();
  }
  const { code, retryAfterMs, laterCode, unknownWhetherStored = false } = result.refusal;
  const error = serverEvent('message.send.error', {
    local_id: localId,
    error: ERRORS[code].message,
    code,
    retryable: ERRORS[code].retryable,
    request_id: 'conformance',
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
    stored: unknownWhetherStored ? 'unknown' : 'no',
  });
  connection.emit({ ...error, payload: withLaterCode(error.payload as { code: string }, laterCode) });
}

interface Transport {
  send(packets: unknown): void;
  close(callback?: () => void): void;
  /** Of a WebSocket. */
  socket?: { terminate(): void; pause(): void };
}

const transportOf = (socket: Socket): Transport => socket.conn.transport as unknown as Transport;

/** A connection whose network has failed: writes and pings arrive nowhere, and it is not closed. */
function silence(socket: Socket): void {
  const transport = transportOf(socket);
  transport.socket?.pause();
  transport.send = () => undefined;
  transport.close = () => undefined;
}
