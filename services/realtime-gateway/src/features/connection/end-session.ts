import { type ServerEventPayload, SESSION_ENDINGS, type SessionEndingCode } from '@uswarm/contract';
import type { GatewayMetrics } from '../../metrics/gateway-metrics.js';
import type { GatewaySettings } from '../../settings.js';
import type { Timers } from '../../timers.js';

/** The used part of a socket. */
export interface EndingSocket {
  readonly connected: boolean;
  emit(event: 'session.ending', payload: ServerEventPayload<'session.ending'>): unknown;
  disconnect(close: true): unknown;
  conn: { close(discard?: boolean): void };
}

export interface EndSessionDeps {
  metrics: Pick<GatewayMetrics, 'sessionsEnded'>;
  settings: Pick<GatewaySettings, 'floodPauseMs'>;
  timers: Timers;
}

/**
 * Sends the reason to a client and closes its connection. If the client should reconnect, only its transport is closed,
 * because a client does not reconnect after a namespace disconnect.
 */
export function endSession(
  socket: EndingSocket,
  code: SessionEndingCode,
  { metrics, settings, timers }: EndSessionDeps,
): void {
  if (!socket.connected) return;
  const { reconnect } = SESSION_ENDINGS[code];
  // A client with default options reconnects immediately, so its connection stays open for the time that it must wait.
  const inMs = code === 'rate_limited' ? settings.floodPauseMs : 0;
  metrics.sessionsEnded.inc({ code });
  socket.emit('session.ending', { code, reconnect, in_ms: inMs });
  if (inMs > 0) pauseAndClose(socket.conn, inMs, timers);
  else if (code === 'slow_consumer') terminate(socket.conn);
  else if (reconnect) socket.conn.close();
  else socket.disconnect(true);
}

interface RawTransport {
  transport?: { socket?: { terminate(): void; pause(): void } };
}

const webSocketOf = (conn: EndingSocket['conn']) => (conn as RawTransport).transport?.socket;

/** Further client packets are not even parsed. A polling client must get the answer to its request. */
function pauseAndClose(conn: EndingSocket['conn'], ms: number, timers: Timers): void {
  webSocketOf(conn)?.pause();
  timers.after(ms, () => (webSocketOf(conn) === undefined ? conn.close() : terminate(conn)));
}

/** A normal close waits until the client has read its unread data and has answered. */
function terminate(conn: EndingSocket['conn']): void {
  conn.close(true);
  webSocketOf(conn)?.terminate();
}
