import { z } from 'zod';
import { Id } from '../resources/primitives.js';

/** Events that all of a user's sockets receive, without a subscription. */
const USER_EVENTS = ['workspace.new', 'workspace.deleted'] as const;

/** Broadcast to all gateways, which emit it to the user's sockets. */
export const UserEvent = z.object({
  v: z.literal(1),
  user_id: Id,
  event: z.enum(USER_EVENTS),
  payload: z.record(z.string(), z.unknown()),
});
export type UserEvent = z.output<typeof UserEvent>;
