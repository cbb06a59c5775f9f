/** An engine.io connection whose transports limit the packet size. */
export interface LimitedConnection {
  readonly transport: object;
  on(event: 'upgrading', listener: (transport: object) => void): unknown;
  off(event: 'upgrading' | 'close', listener: (transport: object) => void): unknown;
}

interface Transport {
  /** Of polling. */
  maxHttpBufferSize?: number;
  /** Of WebSocket. */
  socket?: object;
}

function limitTransport(transport: Transport, bytes: number): void {
  if (transport.maxHttpBufferSize !== undefined) transport.maxHttpBufferSize = bytes;
  // ws has no public property for it. A test notices if this one is renamed.
  const receiver: unknown = transport.socket === undefined ? undefined : Reflect.get(transport.socket, '_receiver');
  if (typeof receiver === 'object' && receiver !== null) Reflect.set(receiver, '_maxPayload', bytes);
}

/**
 * Limits packets more strictly than engine.io, which has one limit for all connections. Anybody can open
 * unauthenticated connections, and a gateway holds a packet from each in memory until it is complete.
 *
 * @returns sets the usual limit
 */
export function limitPackets(conn: LimitedConnection, { bytes, usual }: { bytes: number; usual: number }): () => void {
  const limited = new Set<object>([conn.transport]);
  const onUpgrading = (transport: object): void => {
    limited.add(transport);
    limitTransport(transport, bytes);
  };
  limitTransport(conn.transport, bytes);
  conn.on('upgrading', onUpgrading);
  return () => {
    conn.off('upgrading', onUpgrading);
    for (const transport of limited) limitTransport(transport, usual);
  };
}
