import { z } from 'zod';
import { Id } from '../resources/primitives.js';

/** The events that all sockets of a user receive, without a subscription. */
const USER_EVENTS = ['workspace.new', 'workspace.deleted'] as const;

/** Broadcast to all gateways, which emit it to the sockets of the user. */
export const UserEvent = z.object({
  v: z.literal(1),
  user_id: Id,
  event: z.enum(USER_EVENTS),
  payload: z.record(z.string(), z.unknown()),
});
export type UserEvent = z.output<typeof UserEvent>;
