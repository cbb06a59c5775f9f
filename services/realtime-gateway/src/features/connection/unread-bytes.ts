/** The part of an engine.io connection that buffers unread data. */
export interface UnreadConnection {
  on(event: 'packetCreate', listener: (packet: { data?: unknown }) => void): unknown;
  on(event: 'flush', listener: () => void): unknown;
  readonly transport: object;
}

/**
 * Calls `exceeded` once when more than `limit` bytes are buffered for the client, in engine.io and in the transport.
 * socket.io has no back-pressure: unread data stays in the memory of this process.
 */
export function limitUnreadBytes(conn: UnreadConnection, limit: number, exceeded: () => void): void {
  // Counted incrementally: adding up the whole buffer for each event would take quadratic time.
  let waiting = 0;
  let checking = false;
  const isOver = (): boolean => waiting + bufferedBytes(conn.transport) > limit;
  conn.on('flush', () => {
    waiting = 0;
  });
  conn.on('packetCreate', ({ data }) => {
    waiting += sizeOf(data);
    if (checking || !isOver()) return;
    checking = true;
    // Checked later, because data that the client reads is sent immediately.
    setImmediate(() => {
      if (isOver()) exceeded();
      else checking = false;
    });
  });
}

function sizeOf(data: unknown): number {
  return typeof data === 'string' || Buffer.isBuffer(data) ? Buffer.byteLength(data) : 0;
}

/** Bytes in the buffer of the WebSocket; a polling transport has no buffer between two requests. */
function bufferedBytes(transport: { socket?: { bufferedAmount?: number } }): number {
  return transport.socket?.bufferedAmount ?? 0;
}
