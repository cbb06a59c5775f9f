import { randomUUID } from 'node:crypto';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import { isFromProxy, oddAsAbsent, readJson } from '../../platform/http/foreign-answer.js';
import { readText } from '../../platform/http/read-text.js';
import type { ApnsTokens } from './apns-token.js';
import { answeredByProxy, attempt, MAX_ANSWER_BYTES, PUSH_TIMEOUT_MS, retryOf, TTL_S } from './push-answer.js';
import type { PushMessage, PushResult, PushSender } from './push-sender.js';

/** The device belongs to another app or environment, or has removed the app. */
const INVALID_TOKEN = new Set(['BadDeviceToken', 'DeviceTokenNotForTopic', 'Unregistered', 'ExpiredToken']);
const EXPIRED_PROVIDER_TOKEN = 'ExpiredProviderToken';
/** Device tokens are hexadecimal. Their length may change. */
const DEVICE_TOKEN = /^[0-9a-f]{1,400}$/i;

const Answer = z.object({ reason: oddAsAbsent(z.string()) });

export interface ApnsSenderDeps {
  /** Without a trailing slash. */
  url: string;
  topic: string;
  tokens: ApnsTokens;
  /** Uses HTTP/2 if the server supports it. */
  outgoing: Pick<Outgoing, 'request'>;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
}

interface Answered {
  status: number;
  reason: string;
  /** The answer is not from Apple. */
  isForeign: boolean;
  retryAfter: string | string[] | undefined;
}

export function createApnsSender({ url, topic, tokens, outgoing, clock, logger }: ApnsSenderDeps): PushSender {
  async function post(
    deviceToken: string,
    headers: Record<string, string>,
    body: string,
    providerToken: string,
    signal: AbortSignal,
  ): Promise<Answered> {
    const answer = await outgoing.request(`${url}/3/device/${deviceToken}`, {
      method: 'POST',
      headers: { ...headers, authorization: `bearer ${providerToken}`, 'content-type': 'application/json' },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(PUSH_TIMEOUT_MS)]),
    });
    const text = await readText(answer.body, MAX_ANSWER_BYTES);
    return {
      status: answer.statusCode,
      reason: Answer.safeParse(readJson(text)).data?.reason ?? '',
      isForeign: isFromProxy(answer.statusCode, text),
      retryAfter: answer.headers['retry-after'],
    };
  }

  /** Posts with the provider token, or with a new one if it has expired by Apple's clock. */
  async function authorized(
    deviceToken: string,
    message: PushMessage,
    signal: AbortSignal,
  ): Promise<Answered & { id: string }> {
    // The same id, so that Apple recognizes a repeated request.
    const id = randomUUID();
    const headers = headersOf(message, id, topic, clock.now());
    const body = JSON.stringify(payloadOf(message));
    const token = await tokens.token();
    const answered = await post(deviceToken, headers, body, token, signal);
    if (answered.reason !== EXPIRED_PROVIDER_TOKEN) return { ...answered, id };
    tokens.drop(token);
    return { ...(await post(deviceToken, headers, body, await tokens.token(), signal)), id };
  }

  function resultOf({ status, reason, isForeign, retryAfter, id }: Answered & { id: string }): PushResult {
    if (isForeign) return answeredByProxy(status, logger);
    if (status === 200) return 'sent';
    if (status === 410 || INVALID_TOKEN.has(reason)) return 'unregistered';
    const retry = retryOf(status, retryAfter, clock);
    if (retry !== undefined) return retry;
    logger.warn({ status, reason, apns_id: id }, 'a push notification was rejected');
    return 'rejected';
  }

  return {
    send: ({ token }, message, signal) =>
      attempt(
        async () => (DEVICE_TOKEN.test(token) ? resultOf(await authorized(token, message, signal)) : 'unregistered'),
        signal,
        logger,
      ),
  };
}

function headersOf({ collapseKey, alert }: PushMessage, id: string, topic: string, now: Date): Record<string, string> {
  return {
    'apns-id': id,
    'apns-topic': topic,
    'apns-push-type': alert === null ? 'background' : 'alert',
    // Apple requires 5 for background notifications.
    'apns-priority': alert === null ? '5' : '10',
    'apns-expiration': String(Math.floor(now.getTime() / 1_000) + TTL_S),
    'apns-collapse-id': collapseKey,
  };
}

/** A background payload must contain neither alert, badge nor sound: the app sets its badge from the data. */
const payloadOf = ({ group, alert, badge, data }: PushMessage): unknown => ({
  aps: alert === null ? { 'content-available': 1 } : { alert, badge, sound: 'default', 'thread-id': group },
  ...data,
  badge: String(badge),
});
