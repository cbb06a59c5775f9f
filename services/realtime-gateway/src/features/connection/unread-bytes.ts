/** The part of an engine.io connection that holds what a client has not read yet. */
export interface UnreadConnection {
  on(event: 'packetCreate', listener: (packet: { data?: unknown }) => void): unknown;
  on(event: 'flush', listener: () => void): unknown;
  readonly transport: object;
}

/**
 * Calls `exceeded` once when more than `limit` bytes wait for the client, in engine.io and in the transport. socket.io
 * has no back-pressure: what a client does not read stays in the memory of this process.
 */
export function limitUnreadBytes(conn: UnreadConnection, limit: number, exceeded: () => void): void {
  // Counted as it changes: adding up the buffer for every event would take time that grows with its square.
  let waiting = 0;
  let looking = false;
  const isOver = (): boolean => waiting + bufferedBytes(conn.transport) > limit;
  conn.on('flush', () => {
    waiting = 0;
  });
  conn.on('packetCreate', ({ data }) => {
    waiting += sizeOf(data);
    if (looking || !isOver()) return;
    looking = true;
    // Later: what the client reads is sent immediately, however much it is.
    setImmediate(() => {
      if (isOver()) exceeded();
      else looking = false;
    });
  });
}

function sizeOf(data: unknown): number {
  return typeof data === 'string' || Buffer.isBuffer(data) ? Buffer.byteLength(data) : 0;
}

/** What the WebSocket has accepted and the kernel has not; a polling transport keeps nothing between two requests. */
function bufferedBytes(transport: { socket?: { bufferedAmount?: number } }): number {
  return transport.socket?.bufferedAmount ?? 0;
}
