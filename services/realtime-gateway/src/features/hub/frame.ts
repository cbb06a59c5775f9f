/** An event, encoded once as a socket.io packet for all sockets on a hub. */
export interface Frame {
  event: string;
  /** A packet of socket.io protocol 5, as its encoder writes it for an event without binary data. */
  text: string;
  bytes: number;
}

const EVENT_OF_NAMESPACE = '2/v1,';

export function encodeFrame(event: string, payload: object): Frame {
  const text = `${EVENT_OF_NAMESPACE}${JSON.stringify([event, payload])}`;
  return { event, text, bytes: Buffer.byteLength(text) };
}
