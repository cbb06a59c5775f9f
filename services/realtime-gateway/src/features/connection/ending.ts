import { type ServerEventPayload, SESSION_ENDINGS, type SessionEndingCode } from '@uswarm/contract';
import type { GatewayMetrics } from '../../gateway-metrics.js';

/** The part of a socket that ending its session needs. */
export interface EndingSocket {
  readonly connected: boolean;
  emit(event: 'session.ending', payload: ServerEventPayload<'session.ending'>): unknown;
  disconnect(close: true): unknown;
  conn: { close(discard?: boolean): void };
}

/**
 * Tells a client why, and closes its connection. A client that should come again loses its transport only: one that
 * the namespace sends away would not reconnect by itself.
 */
export function endSession(
  socket: EndingSocket,
  code: SessionEndingCode,
  metrics: Pick<GatewayMetrics, 'sessionsEnded'>,
): void {
  if (!socket.connected) return;
  const { reconnect } = SESSION_ENDINGS[code];
  metrics.sessionsEnded.inc({ code });
  socket.emit('session.ending', { code, reconnect });
  if (code === 'slow_consumer') cutOff(socket.conn);
  else if (reconnect) socket.conn.close();
  else socket.disconnect(true);
}

interface RawTransport {
  transport?: { socket?: { terminate?: () => void } };
}

/** A polite close waits until what is unread was read. */
function cutOff(conn: EndingSocket['conn']): void {
  conn.close(true);
  (conn as RawTransport).transport?.socket?.terminate?.();
}
