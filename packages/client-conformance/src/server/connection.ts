import type { ServerEvent } from './checks.js';
import type { Transport } from './seen.js';

/** An open client connection, of either transport. */
export interface Connection {
  readonly transport: Transport;
  /** Workspace events are sent only after a subscribe. */
  subscribed: boolean;
  /** @param seq the position that the client has after the event; undefined if the event does not change it */
  emit(event: ServerEvent, seq?: number): void;
  /** Closes the transport, as a lost network does. */
  cut(): void;
  /** Closes the session after `session.ending`: with `reconnect` only the transport. */
  close(reconnect: boolean): void;
  /** Nothing is sent and nothing is heard any more, but the transport stays open. */
  freeze(): void;
}

/** Where a client begins, as `epoch:seq`; undefined: now. */
export type Since = string | undefined;

export const seqOf = ({ payload }: ServerEvent): number | undefined => {
  const { seq } = payload as { seq?: number };
  return seq;
};
