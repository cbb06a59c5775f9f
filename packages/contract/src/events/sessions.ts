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

/** By header; the others are described as REST parameters. */
const CREDENTIALS: Record<CredentialHeader, string> = {
  'x-token': 'An ID token of the identity provider, or an API token.',
  authorization: 'The same token as `Bearer <token>`.',
  'x-e2e-token': 'The secret of the end-to-end bypass; available in non-production systems only.',
  'x-e2e-uid': 'The user id of the end-to-end bypass.',
  'x-e2e-email': 'The e-mail address of the end-to-end bypass.',
  'x-e2e-name': 'The display name of the end-to-end bypass.',
  'x-signature': 'Hex HMAC-SHA256 of `<token>:<timestamp>`, if the server requires it.',
  'x-timestamp': 'When the signature was made: Unix seconds, Unix milliseconds or ISO 8601.',
  'x-device-info': 'Model and operating system of the device.',
  'x-device-id': 'Identifies the device among the devices of the user.',
  'x-version': 'The release of the app.',
  'x-timezone': 'The time zone of the device, as an IANA name.',
};

const credential = (description: string) => z.string().max(16_384).optional().meta({ description });

/** The credentials in a client event; other names are ignored, as in the handshake. */
export const Credentials = z
  .object(
    Object.fromEntries(CREDENTIAL_HEADERS.map((name) => [name, credential(CREDENTIALS[name])])) as Record<
      CredentialHeader,
      ReturnType<typeof credential>
    >,
  )
  .meta({ id: 'Credentials', description: 'Headers of the REST API by lower-case name, as in the handshake.' });

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
  .meta({ id: 'SessionEndingCode', description: 'Why a session ends. Treat an unknown code as `session_ended`.' });

/** Broadcast to all gateways, which close and reject this user's sockets. */
export const SessionEnd = z.object({
  v: z.literal(1),
  user_id: Id,
  /** Limits the event to sockets with this credential; null means all the user's sockets. */
  token_hash: TokenHash.nullable(),
  /** API tokens stay valid, and their sockets open. Earlier releases close them, and they connect again. */
  except_api_tokens: z.boolean().nullish(),
  /** Sent to the clients. A code from a later release counts as none. */
  code: SessionEndingCode.optional().catch(undefined),
});
export type SessionEnd = z.output<typeof SessionEnd>;
