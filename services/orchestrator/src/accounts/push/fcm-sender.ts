import type { Clock, Logger } from '@uswarm/service-kit';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import { isFromProxy, oddAsAbsent, readableOf, readJson } from '../../platform/http/foreign-answer.js';
import { readText } from '../../platform/http/read-text.js';
import type { GoogleTokens } from './google-token.js';
import { answeredByProxy, attempt, MAX_ANSWER_BYTES, PUSH_TIMEOUT_MS, retryOf, TTL_S } from './push-answer.js';
import type { PushMessage, PushResult, PushSender } from './push-sender.js';

const INVALID = 'INVALID_ARGUMENT';

/** An error from Google's APIs; FCM adds its own code to the details. */
const ErrorAnswer = z.object({
  error: z.object({
    message: oddAsAbsent(z.string()),
    status: oddAsAbsent(z.string()),
    details: readableOf(z.object({ errorCode: z.string() })),
  }),
});

export interface FcmSenderDeps {
  /** Without a trailing slash. */
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
      signal: AbortSignal.any([signal, AbortSignal.timeout(PUSH_TIMEOUT_MS)]),
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
   * Firebase uses the same code for an invalid token and for an invalid message. A message with nothing but the token
   * is valid, so if Firebase refuses it, the token is invalid. Nothing is delivered.
   */
  const isInvalidToken = async (token: string, signal: AbortSignal): Promise<boolean> =>
    (await authorized({ validateOnly: true, message: { token } }, signal)).code === INVALID;

  function resultOf({ status, isForeign, code, message, retryAfter }: Answered): PushResult {
    if (isForeign) return answeredByProxy(status, logger);
    if (status === 200) return 'sent';
    if (code === 'UNREGISTERED') return 'unregistered';
    const retry = retryOf(status, retryAfter, clock);
    if (retry !== undefined) return retry;
    logger.warn({ status, code, message: message.slice(0, 300) }, 'a push notification was rejected');
    return 'rejected';
  }

  return {
    send: ({ token }, message, signal) =>
      attempt(
        async () => {
          const answered = await authorized(messageOf(token, message, clock.now()), signal);
          const isRefused = answered.code === INVALID && (await isInvalidToken(token, signal));
          return isRefused ? 'unregistered' : resultOf(answered);
        },
        signal,
        logger,
      ),
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

function messageOf(token: string, { collapseKey, group, alert, badge, data }: PushMessage, now: Date): unknown {
  const expiry = Math.floor(now.getTime() / 1_000) + TTL_S;
  const android = { collapseKey, ttl: `${TTL_S}s` };
  const apns = { 'apns-collapse-id': collapseKey, 'apns-expiration': String(expiry) };
  const common = {
    token,
    data: { ...data, badge: String(badge) },
    webpush: { headers: { TTL: String(TTL_S), Topic: collapseKey.replaceAll('-', '') } },
  };
  if (alert === null) {
    const headers = { ...apns, 'apns-push-type': 'background', 'apns-priority': '5' };
    return {
      message: {
        ...common,
        android: { ...android, priority: 'NORMAL' },
        apns: { headers, payload: { aps: { 'content-available': 1 } } },
      },
    };
  }
  return {
    message: {
      ...common,
      notification: alert,
      android: { ...android, priority: 'HIGH', notification: { tag: collapseKey, notificationCount: badge } },
      apns: {
        headers: { ...apns, 'apns-push-type': 'alert', 'apns-priority': '10' },
        payload: { aps: { 'thread-id': group, sound: 'default', badge } },
      },
    },
  };
}
