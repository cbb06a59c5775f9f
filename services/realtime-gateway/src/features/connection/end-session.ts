import { type ServerEventPayload, SESSION_ENDINGS, type SessionEndingCode } from '@uswarm/contract';
import type { GatewayMetrics } from '../../gateway-metrics.js';

/** The part of a socket that `endSession` uses. */
export interface EndingSocket {
  readonly connected: boolean;
  emit(event: 'session.ending', payload: ServerEventPayload<'session.ending'>): unknown;
  disconnect(close: true): unknown;
  conn: { close(discard?: boolean): void };
}

/**
 * Sends the reason to a client and closes its connection. If the client should reconnect, only its transport is closed,
 * because a client does not reconnect after a namespace disconnect.
 */
export function endSession(
  socket: EndingSocket,
  code: SessionEndingCode,
  metrics: Pick<GatewayMetrics, 'sessionsEnded'>,
): void {
  if (!socket.connected) return;
  const { reconnect } = SESSION_ENDINGS[code];
  metrics.sessionsEnded.inc({ code });
  socket.emit('session.ending', { code, reconnect, in_ms: 0 });
  if (code === 'slow_consumer') terminate(socket.conn);
  else if (reconnect) socket.conn.close();
  else socket.disconnect(true);
}

interface RawTransport {
  transport?: { socket?: { terminate?: () => void } };
}

/** A normal close waits until the client has read its unread data. */
function terminate(conn: EndingSocket['conn']): void {
  conn.close(true);
  (conn as RawTransport).transport?.socket?.terminate?.();
}
