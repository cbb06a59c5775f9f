import { UserEvent } from '@uswarm/contract';
import { type EventBus, USER_EVENT } from '@uswarm/event-bus';
import type { Logger } from '@uswarm/service-kit';
import { userRoom } from './user-sockets.js';

/** The part of a socket.io namespace that emits to a user's sockets on this gateway. */
export interface UserNamespace {
  on(event: typeof USER_EVENT, listener: (event: unknown) => void): unknown;
  local: { to(room: string): { emit(event: string, payload: unknown): unknown } };
}

export interface UserEventsDeps {
  namespace: UserNamespace;
  bus: Pick<EventBus, 'onUserEvent'>;
  logger: Pick<Logger, 'error' | 'warn'>;
}

/** Emits user events to sockets on this gateway: each gateway receives them from the adapter or the bus. */
export function forwardUserEvents({ namespace, bus, logger }: UserEventsDeps): void {
  const forward = ({ user_id, event, payload }: UserEvent): void => {
    namespace.local.to(userRoom(user_id)).emit(event, payload);
  };
  namespace.on(USER_EVENT, (event) => {
    const parsed = UserEvent.safeParse(event);
    if (parsed.success) forward(parsed.data);
    else logger.warn({ err: parsed.error }, 'dropped a malformed event of a user');
  });
  bus.onUserEvent?.(forward).catch((error: unknown) => {
    logger.error({ err: error }, 'subscription to the events of users failed');
  });
}
