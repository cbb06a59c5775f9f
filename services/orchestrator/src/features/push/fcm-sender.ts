import type { Clock, Logger } from '@uswarm/service-kit';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import { isFromProxy, oddAsAbsent, readableOf, readJson } from '../../http/foreign-answer.js';
import { readText } from '../../http/read-text.js';
import type { GoogleTokens } from './google-token.js';
import type { PushNotification, PushResult, PushSender } from './push-sender.js';

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1_024;
/** Firebase, Apple and browsers keep a notification for a device without a connection for this time. */
const TTL_S = 3_600;
/** Without `Retry-After`; Firebase asks for a minute after 429. */
const RETRY_MS = 10_000;
const LIMITED_RETRY_MS = 60_000;
const MAX_RETRY_MS = 30 * 60_000;
const LIMITED = 429;
const INVALID = 'INVALID_ARGUMENT';

/** An error of Google's APIs; FCM adds its own code to the details. */
const ErrorAnswer = z.object({
  error: z.object({
    message: oddAsAbsent(z.string()),
    status: oddAsAbsent(z.string()),
    details: readableOf(z.object({ errorCode: z.string() })),
  }),
});

export interface FcmSenderDeps {
  /** Without a slash at the end. */
  url: string;
  projectId: string;
  tokens: GoogleTokens;
  outgoing: Pick<Outgoing, 'request'>;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
}

/** Firebase Cloud Messaging, HTTP v1. */
export function createFcmSender({ url, projectId, tokens, outgoing, clock, logger }: FcmSenderDeps): PushSender {
  const address = `${url}/v1/projects/${projectId}/messages:send`;

  async function post(token: string, body: unknown, signal: AbortSignal): Promise<Answered> {
    const answer = await outgoing.request(address, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const text = await readText(answer.body, MAX_ANSWER_BYTES);
    const { error } = ErrorAnswer.safeParse(readJson(text)).data ?? {};
    return {
      status: answer.statusCode,
      isForeign: isFromProxy(answer.statusCode, text),
      code: error?.details[0]?.errorCode ?? error?.status ?? '',
      message: error?.message ?? '',
      retryAfter: answer.headers['retry-after'],
    };
  }

  /** Posts with an access token, or with a new one if it was revoked before it expired. */
  async function authorized(body: unknown, signal: AbortSignal): Promise<Answered> {
    const token = await tokens.token();
    const answered = await post(token, body, signal);
    if (answered.status !== 401 || answered.code === 'THIRD_PARTY_AUTH_ERROR') return answered;
    tokens.drop(token);
    return post(await tokens.token(), body, signal);
  }

  /**
   * Firebase has one code for an invalid token and for an invalid message. A message that has nothing but the token is valid, so
   * its refusal means the token. Nothing is delivered.
   */
  const isInvalidToken = async (token: string, signal: AbortSignal): Promise<boolean> =>
    (await authorized({ validateOnly: true, message: { token } }, signal)).code === INVALID;

  function resultOf({ status, isForeign, code, message, retryAfter }: Answered): PushResult {
    if (isForeign) {
      logger.warn({ status }, 'a proxy answered instead of Firebase; will retry');
      return { retryInMs: RETRY_MS };
    }
    if (status === 200) return 'sent';
    if (code === 'UNREGISTERED') return 'unregistered';
    if (status === LIMITED || status >= 500) {
      const least = status === LIMITED ? LIMITED_RETRY_MS : RETRY_MS;
      return { retryInMs: Math.min(retryAfterMs(retryAfter, clock.now()) ?? least, MAX_RETRY_MS) };
    }
    logger.warn({ status, code, message: message.slice(0, 300) }, 'a push notification was rejected');
    return 'rejected';
  }

  return {
    async send(deviceToken, notification, signal) {
      try {
        const answered = await authorized(messageOf(deviceToken, notification, clock.now()), signal);
        if (answered.code === INVALID && (await isInvalidToken(deviceToken, signal))) return 'unregistered';
        return resultOf(answered);
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ err: error }, 'a push notification was not sent; will retry');
        return { retryInMs: RETRY_MS };
      }
    },
  };
}

interface Answered {
  status: number;
  /** The answer is not from Firebase. */
  isForeign: boolean;
  code: string;
  message: string;
  retryAfter: string | string[] | undefined;
}

function messageOf(token: string, { collapseKey, group, title, body, data }: PushNotification, now: Date): unknown {
  const expiry = Math.floor(now.getTime() / 1_000) + TTL_S;
  return {
    message: {
      token,
      notification: { title, body },
      data,
      android: {
        priority: 'HIGH',
        collapseKey,
        ttl: `${TTL_S}s`,
        notification: { tag: collapseKey },
      },
      apns: {
        headers: { 'apns-collapse-id': collapseKey, 'apns-priority': '10', 'apns-expiration': String(expiry) },
        payload: { aps: { 'thread-id': group, sound: 'default' } },
      },
      webpush: { headers: { TTL: String(TTL_S), Topic: collapseKey.replaceAll('-', '') } },
    },
  };
}

/** Milliseconds of a `Retry-After` header: seconds or a date. */
function retryAfterMs(header: string | string[] | undefined, now: Date): number | undefined {
  if (typeof header !== 'string') return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now.getTime();
  return Number.isFinite(ms) ? Math.max(ms, 1_000) : undefined;
}
