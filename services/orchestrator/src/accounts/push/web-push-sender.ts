import type { Clock, Logger } from '@uswarm/service-kit';
import { type Outgoing, PrivateAddress } from '@uswarm/service-kit/outgoing';
import webPush from 'web-push';
import { isFromProxy } from '../../platform/http/foreign-answer.js';
import { readText } from '../../platform/http/read-text.js';
import { answeredByProxy, attempt, MAX_ANSWER_BYTES, PUSH_TIMEOUT_MS, retryOf, TTL_S } from './push-answer.js';
import type { PushAddress, PushMessage, PushResult, PushSender } from './push-sender.js';
import type { Vapid } from './vapid.js';

export interface WebPushSenderDeps {
  vapid: Vapid;
  /** Endpoints come from users: only servers on the internet. */
  outgoing: Pick<Outgoing, 'request'>;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
}

/** Safari withdraws its permission if a message shows no notification. */
const mustShow = (endpoint: string): boolean => new URL(endpoint).hostname.endsWith('.push.apple.com');

/** Sends through browsers' push services (RFC 8030), with encrypted payloads (RFC 8291). */
export function createWebPushSender({ vapid, outgoing, clock, logger }: WebPushSenderDeps): PushSender {
  const { contact, publicKey, privateKey } = vapid;

  function requestOf({ token: endpoint, keys }: PushAddress, { collapseKey, alert, badge, data }: PushMessage) {
    if (keys === null) return undefined;
    const payload = JSON.stringify({ ...alert, badge, data });
    try {
      return webPush.generateRequestDetails({ endpoint, keys }, payload, {
        vapidDetails: { subject: contact, publicKey, privateKey },
        TTL: TTL_S,
        urgency: alert === null ? 'normal' : 'high',
        topic: collapseKey.replaceAll('-', ''),
      });
    } catch (error) {
      logger.warn({ err: error }, 'a push subscription with invalid keys was refused');
      return undefined;
    }
  }

  async function post(to: PushAddress, message: PushMessage, signal: AbortSignal): Promise<PushResult> {
    if (message.alert === null && mustShow(to.token)) return 'sent';
    const request = requestOf(to, message);
    if (request === undefined) return 'unregistered';
    const { statusCode, headers, body } = await outgoing.request(request.endpoint, {
      method: 'POST',
      headers: request.headers as Record<string, string>,
      body: request.body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(PUSH_TIMEOUT_MS)]),
    });
    const text = await readText(body, MAX_ANSWER_BYTES);
    const isForeign = isFromProxy(statusCode, text);
    if (statusCode >= 200 && statusCode < 300 && !isForeign) return 'sent';
    if (statusCode === 404 || statusCode === 410) return 'unregistered';
    const retry = retryOf(statusCode, headers['retry-after'], clock);
    if (retry !== undefined) return retry;
    if (isForeign) return answeredByProxy(statusCode, logger);
    logger.warn({ status: statusCode, message: text.slice(0, 300) }, 'a push notification was rejected');
    return 'rejected';
  }

  return {
    send: (to, message, signal) =>
      attempt(
        async () => {
          try {
            return await post(to, message, signal);
          } catch (error) {
            if (!(error instanceof PrivateAddress)) throw error;
            logger.warn({ host: new URL(to.token).hostname }, 'a push endpoint with a private address was refused');
            return 'unregistered';
          }
        },
        signal,
        logger,
      ),
  };
}
