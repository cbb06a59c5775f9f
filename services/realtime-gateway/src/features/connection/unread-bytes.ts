/** An engine.io connection that buffers unread data. */
export interface UnreadConnection {
  on(event: 'packetCreate', listener: (packet: { data?: unknown }) => void): unknown;
  on(event: 'flush', listener: () => void): unknown;
  readonly transport: object;
}

/** Bytes that are buffered for a client, in engine.io and in the transport. */
export interface UnreadBytes {
  count(): number;
  /**
   * Calls `exceeded` once when more than `limit` bytes are buffered. socket.io has no back-pressure: unread data stays in
   * the memory of this process.
   */
  limit(limit: number, exceeded: () => void): void;
}

export function trackUnreadBytes(conn: UnreadConnection): UnreadBytes {
  // Counted incrementally: adding up the whole buffer for each event would take quadratic time.
  let waiting = 0;
  const count = (): number => waiting + bufferedBytes(conn.transport);
  conn.on('flush', () => {
    waiting = 0;
  });
  conn.on('packetCreate', ({ data }) => {
    waiting += sizeOf(data);
  });
  return {
    count,
    limit(limit, exceeded) {
      let checking = false;
      conn.on('packetCreate', () => {
        if (checking || count() <= limit) return;
        checking = true;
        // Checked later, because data that the client reads is sent immediately.
        setImmediate(() => {
          if (count() > limit) exceeded();
          else checking = false;
        });
      });
    },
  };
}

function sizeOf(data: unknown): number {
  return typeof data === 'string' || Buffer.isBuffer(data) ? Buffer.byteLength(data) : 0;
}

/** Bytes in the WebSocket's buffer; a polling transport has no buffer between two requests. */
function bufferedBytes(transport: { socket?: { bufferedAmount?: number } }): number {
  return transport.socket?.bufferedAmount ?? 0;
}
