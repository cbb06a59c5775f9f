import { reachesWorkspace, UserEvent } from '@uswarm/contract';
import { type EventBus, USER_EVENT } from '@uswarm/event-bus';
import type { Logger } from '@uswarm/service-kit';
import type { SessionData } from './session-data.js';
import { userRoom } from './user-sockets.js';

/** The part of a socket.io namespace that emits to a user's sockets on this gateway. */
export interface UserNamespace {
  on(event: typeof USER_EVENT, listener: (event: unknown) => void): unknown;
  adapter: { rooms: ReadonlyMap<string, ReadonlySet<string>> };
  sockets: ReadonlyMap<string, { data: Pick<SessionData, 'access'>; emit(event: string, payload: unknown): unknown }>;
}

export interface UserEventsDeps {
  namespace: UserNamespace;
  bus: Pick<EventBus, 'onUserEvent'>;
  logger: Pick<Logger, 'error' | 'warn'>;
}

/** Emits user events to sockets on this gateway: each gateway receives them from the adapter or the bus. */
export function forwardUserEvents({ namespace, bus, logger }: UserEventsDeps): void {
  const forward = ({ user_id, event, payload }: UserEvent): void => {
    const workspaceId = workspaceOf(payload);
    for (const id of namespace.adapter.rooms.get(userRoom(user_id)) ?? []) {
      const socket = namespace.sockets.get(id);
      if (socket !== undefined && reachesWorkspace(socket.data.access, workspaceId)) socket.emit(event, payload);
    }
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

/** Empty if the payload names none: then only sockets without limits receive the event. */
function workspaceOf({ workspace_id: id, workspace }: UserEvent['payload']): string {
  if (typeof id === 'string') return id;
  return typeof workspace === 'object' && workspace !== null && 'id' in workspace ? String(workspace.id) : '';
}
