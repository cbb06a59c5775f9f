import type { SessionEndingCode } from '@uswarm/contract';
import type { ClientAddress } from '@uswarm/service-kit';
import type { DefaultEventsMap, Server, Socket } from 'socket.io';
import { disconnectReason } from '../../metrics/gateway-metrics.js';
import type { ServerToClientEvents } from '../../server-events.js';
import { endSession } from './end-session.js';
import type { SessionData } from './session-data.js';
import { createSession, type SessionDeps } from './session.js';
import type { SessionRegistry } from './session-registry.js';
import { trackUnreadBytes } from './unread-bytes.js';
import { type UserSockets, userRoom } from './user-sockets.js';

export type GatewayServer = Server<DefaultEventsMap, ServerToClientEvents, DefaultEventsMap, SessionData>;
export type GatewaySocket = Socket<DefaultEventsMap, ServerToClientEvents, DefaultEventsMap, SessionData>;

export interface ServeDeps extends SessionDeps {
  sessionRegistry: SessionRegistry;
  clientAddress: ClientAddress;
  userSockets: UserSockets;
  /** Ends an open socket's session, by socket id. */
  sessionEnders: Map<string, (code: SessionEndingCode) => void>;
}

/** Serves a socket whose handshake succeeded, until it is closed. */
export function serve(socket: GatewaySocket, { clientAddress, userSockets, sessionEnders, ...deps }: ServeDeps): void {
  const address = clientAddress(socket.request);
  forgetHandshake(socket);
  socket.data.connectedAt = performance.timeOrigin + performance.now();
  let ended = false;
  const end = (code: SessionEndingCode): void => {
    if (ended) return;
    ended = true;
    endSession(socket, code, deps);
  };
  const leave = deps.sessionRegistry.add({ data: socket.data, close: end });
  if (leave === undefined) {
    end('session_ended');
    return;
  }
  deps.metrics.sockets.inc();
  sessionEnders.set(socket.id, end);
  const unread = trackUnreadBytes(socket.conn);
  const isOpen = (): boolean => !ended && socket.connected;
  const session = createSession(
    socket.data,
    {
      address,
      emit: (event, payload) => {
        if (isOpen()) (socket as Pick<Socket, 'emit'>).emit(event, payload);
      },
      // The public interface of engine.io, because socket.io encodes an event again for each socket.
      write: (packet, flushed) => {
        if (isOpen()) socket.conn.write(packet, { compress: false }, flushed);
      },
      unflushedBytes: unread.count,
      end,
    },
    deps,
  );
  unread.limit(deps.settings.unreadBytesPerSocket, () => end('slow_consumer'));
  socket.onAny(session.dispatch);
  socket.once('disconnect', (reason) => {
    ended = true;
    sessionEnders.delete(socket.id);
    deps.metrics.sockets.dec();
    deps.metrics.disconnects.inc({ reason: disconnectReason(reason) });
    leave();
    session.close();
  });
  void socket.join(userRoom(socket.data.userId));
  void userSockets.added(socket.data.userId);
}

const NOTHING = Object.freeze({});

/** Credentials are not kept after the handshake. An idle socket then uses a third less memory. */
function forgetHandshake(socket: GatewaySocket): void {
  Object.assign(socket.handshake, { headers: NOTHING, auth: NOTHING, query: NOTHING, url: '', time: '' });
  Object.assign(socket.conn, { request: null });
}
