import { z } from 'zod';
import { Id } from '../resources/primitives.js';

/** Headers (or handshake `auth` entries) for authentication, by lower-case name. */
export const CREDENTIAL_HEADERS = [
  'x-token',
  'authorization',
  'x-e2e-token',
  'x-e2e-uid',
  'x-e2e-email',
  'x-e2e-name',
  'x-signature',
  'x-timestamp',
  'x-device-info',
  'x-device-id',
  'x-version',
  'x-timezone',
] as const;
type CredentialHeader = (typeof CREDENTIAL_HEADERS)[number];

const credential = z.string().max(16_384).optional();

/** The credentials of a client event; other names are ignored, as in the handshake. */
export const Credentials = z
  .object(
    Object.fromEntries(CREDENTIAL_HEADERS.map((name) => [name, credential])) as Record<
      CredentialHeader,
      typeof credential
    >,
  )
  .meta({ id: 'Credentials' });

/** Hash that identifies a token (`tokenHash` of service-kit), in hex. */
export const TokenHash = z.string().regex(/^[\da-f]{64}$/);

/** Why the server ends a session or closes its connection. Clients must accept unknown codes. */
export const SESSION_ENDINGS = {
  token_expired: { reconnect: true, summary: 'the credential expires; renew it with `session.renew`' },
  logged_out: { reconnect: false, summary: 'the credential was revoked' },
  user_banned: { reconnect: false, summary: 'the user was banned' },
  user_deleted: { reconnect: false, summary: 'the account was deleted' },
  session_ended: { reconnect: false, summary: 'the session ended for another reason' },
  too_many_sockets: { reconnect: false, summary: 'the user exceeded the socket limit, and this socket was the oldest' },
  rate_limited: {
    reconnect: true,
    summary: 'the socket kept exceeding the event rate limit; its events are ignored from now on',
  },
  slow_consumer: { reconnect: true, summary: 'the client reads too slowly' },
  server_leaving: { reconnect: true, summary: 'this gateway is shutting down; others are available' },
} as const satisfies Record<string, { reconnect: boolean; summary: string }>;

export type SessionEndingCode = keyof typeof SESSION_ENDINGS;
export const SessionEndingCode = z
  .enum(Object.keys(SESSION_ENDINGS) as [SessionEndingCode, ...SessionEndingCode[]])
  .meta({ id: 'SessionEndingCode' });

/** Broadcast to all gateways, which close and reject the sockets of this user. */
export const SessionEnd = z.object({
  v: z.literal(1),
  user_id: Id,
  /** Only sockets with this credential; null means all sockets of the user. */
  token_hash: TokenHash.nullable(),
  /** Sent to the clients. A code of a later release counts as none. */
  code: SessionEndingCode.optional().catch(undefined),
});
export type SessionEnd = z.output<typeof SessionEnd>;
