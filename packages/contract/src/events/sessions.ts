import { z } from 'zod';
import { Id } from '../resources/primitives.js';

/** The identity of a token (`tokenHash` of service-kit), in hex. */
export const TokenHash = z.string().regex(/^[\da-f]{64}$/);

/** Told to every gateway: sockets of this user are to be closed, and nobody lets them in again. */
export const SessionEnd = z.strictObject({
  v: z.literal(1),
  user_id: Id,
  /** Only those that came with this credential; null means all of the user. */
  token_hash: TokenHash.nullable(),
});
export type SessionEnd = z.output<typeof SessionEnd>;
