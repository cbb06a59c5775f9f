import { z } from 'zod';
import { ErrorCode } from '../errors.js';
import { Id } from '../resources/primitives.js';
import type { ServerEventDefinition } from './fields.js';
import { SessionEndingCode } from './sessions.js';

const SessionLimits = z
  .strictObject({
    subscriptions: z.int().positive().meta({ description: 'Most workspaces that this socket can subscribe to.' }),
    events_per_second: z.number().nonnegative().meta({
      description: 'Sustained rate of events from the client; 0 means unlimited.',
    }),
    events_burst: z.int().positive().meta({ description: 'Most events of the client in one burst.' }),
    events_queued: z.int().positive().meta({
      description:
        'Events that may wait for their answers. While the service is slow, further ones are answered `service_unavailable`.',
    }),
    refusals_per_second: z.number().nonnegative().meta({
      description:
        'Events that may be answered `rate_limited`. Above this rate and burst, the session ends with `rate_limited`.',
    }),
    refusals_burst: z.int().positive().meta({ description: 'Most such answers in one burst.' }),
    event_bytes: z.int().positive().meta({ description: 'UTF-8 bytes of the payload of an event, as JSON.' }),
    unread_bytes: z.int().positive().meta({
      description: 'Most bytes that may wait for the client to read them, before it counts as a `slow_consumer`.',
    }),
  })
  .meta({ id: 'SessionLimits', description: 'What a client may do on this socket.' });

/** Events about a socket's session. */
export const SESSION_EVENTS = {
  'session.ready': {
    summary:
      'The session of this socket. Sent after each connect and `session.renew`, and with a newer resume token later.',
    extension: true,
    payload: z
      .strictObject({
        session_id: Id.meta({ description: 'The same after a connect with its resume token.' }),
        resumed: z.boolean().meta({ description: 'Whether a resume token admitted this socket.' }),
        resume_token: z.string().meta({
          description:
            'Send the newest one as the `auth` entry `resume_token`, beside the credentials. It admits a reconnect for up to ' +
            '10 minutes, also while the service cannot verify credentials.',
        }),
        expires_in_ms: z.int().nonnegative().nullable().meta({
          description: 'Milliseconds until the credentials expire; null if they do not.',
        }),
        limits: SessionLimits.meta({ description: 'What the client may do on this socket.' }),
      })
      .meta({ id: 'SessionReady', description: 'The session that begins or continues on this socket.' }),
  },
  'session.renew.error': {
    summary: 'The new credentials were refused; the present ones remain valid until they expire.',
    extension: true,
    payload: z
      .strictObject({
        error: z.string().meta({ description: 'An English sentence for developers.' }),
        code: ErrorCode.meta({ description: 'What went wrong, as in errors of the REST API.' }),
        retryable: z.boolean().meta({ description: 'Whether the same event may succeed later.' }),
        request_id: z.string().meta({ description: 'Identifies the attempt; name it in support requests.' }),
        retry_after_ms: z.int().nonnegative().optional().meta({
          description: 'Milliseconds after which the same event may succeed.',
        }),
      })
      .meta({ id: 'SessionRenewError', description: 'The answer to `session.renew` if it failed.' }),
  },
  'session.ending': {
    summary:
      'The server closes this connection after `in_ms`. With `reconnect` only the transport closes, and a client reconnects.',
    extension: true,
    payload: z
      .strictObject({
        code: SessionEndingCode.meta({ description: 'Why the session or the connection ends.' }),
        reconnect: z
          .boolean()
          .meta({ description: 'Whether to connect again; with false, show the user why it ended.' }),
        in_ms: z
          .int()
          .nonnegative()
          .meta({
            description:
              'Above 0 for `token_expired`, when `session.renew` within that time keeps the connection, and for `rate_limited`, ' +
              'when the connection closes after that time whatever the client does.',
          }),
      })
      .meta({ id: 'SessionEnding', description: 'An announcement before the connection closes.' }),
  },
} as const satisfies Record<string, ServerEventDefinition>;
