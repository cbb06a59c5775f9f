import type { ServerEventName, ServerEventPayload } from '@uswarm/contract';

/** The events that leave this service, as socket.io wants them typed. */
export type ServerToClientEvents = {
  [Name in ServerEventName]: (payload: ServerEventPayload<Name>) => void;
};

/** Sends one event to one client; does nothing once the client is disconnected. */
export type Emit = <Name extends ServerEventName>(event: Name, payload: ServerEventPayload<Name>) => void;
