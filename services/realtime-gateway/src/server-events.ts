import type { ServerEventName, ServerEventPayload } from '@uswarm/contract';

/** The server events in the form of socket.io's type parameter. */
export type ServerToClientEvents = {
  [Name in ServerEventName]: (payload: ServerEventPayload<Name>) => void;
};

/** Sends an event to one client; does nothing after the client is disconnected. */
export type Emit = <Name extends ServerEventName>(event: Name, payload: ServerEventPayload<Name>) => void;
