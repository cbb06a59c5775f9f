import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookAttempt } from '@uswarm/contract';
import { type Clock, retryAfterOf, visibleText } from '@uswarm/service-kit';
import { type Outgoing, PrivateAddress } from '@uswarm/service-kit/outgoing';
import { signedHeaders } from '../../platform/http/webhook-signature.js';

export interface WebhookRequest {
  url: string;
  /** `webhook-id`. */
  id: string;
  body: { type: string; timestamp: string; data: unknown };
  /** Without any, the attempt fails. */
  secrets: readonly string[];
}

export interface SentWebhook {
  attempt: WebhookAttempt;
  retryAfterMs?: number | undefined;
}

/** Never follows a redirect. @throws the signal's reason if it aborts: the outcome is unknown then */
export type SendWebhook = (request: WebhookRequest, signal: AbortSignal) => Promise<SentWebhook>;

export interface SendWebhookDeps {
  /** For public addresses only. */
  outgoing: Pick<Outgoing, 'request'>;
  clock: Clock;
  userAgent: string;
  /** Milliseconds until the response begins. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;
const RESPONSE_BYTES = 1_024;
/** Reading the rest keeps the connection open, but is not worth more. */
const READ_MS = 2_000;

export function createSendWebhook({
  outgoing,
  clock,
  userAgent,
  timeoutMs = TIMEOUT_MS,
}: SendWebhookDeps): SendWebhook {
  return async ({ url, id, body: content, secrets }, signal) => {
    const at = clock.now();
    const startedAt = performance.now();
    const body = JSON.stringify(content);
    const timeout = AbortSignal.timeout(timeoutMs);
    const outcome = (result: Pick<WebhookAttempt, 'status' | 'response' | 'failure'>): WebhookAttempt => ({
      at: at.toISOString(),
      duration_ms: Math.round(performance.now() - startedAt),
      ...result,
    });
    // The receiver could not tell an unsigned request from a forged one.
    if (secrets.length === 0) return { attempt: outcome({ status: null, response: '', failure: 'secret_unreadable' }) };
    try {
      const answer = await outgoing.request(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': userAgent,
          ...signedHeaders({ id, at, body }, secrets),
        },
        body,
        signal: AbortSignal.any([signal, timeout]),
      });
      const status = answer.statusCode;
      const response = await readStart(answer.body);
      const retryAfter = answer.headers['retry-after'];
      return {
        attempt: outcome({ status, response, failure: status >= 200 && status < 300 ? null : 'status' }),
        retryAfterMs:
          typeof retryAfter === 'string' ? retryAfterOf({ 'retry-after': retryAfter }, at.getTime()) : undefined,
      };
    } catch (error) {
      signal.throwIfAborted();
      const failure = timeout.aborted ? 'timeout' : isPrivate(error) ? 'private_address' : 'unreachable';
      return { attempt: outcome({ status: null, response: '', failure }) };
    }
  };
}

const isPrivate = (error: unknown): boolean =>
  error instanceof PrivateAddress || (error instanceof Error && error.cause instanceof PrivateAddress);

/** Its loss does not matter: the status decides. */
async function readStart(body: AsyncIterable<Buffer> & { destroy: () => unknown }): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  const reading = (async () => {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= RESPONSE_BYTES) break;
    }
  })().catch(() => undefined);
  await Promise.race([reading, sleep(READ_MS, undefined, { ref: false })]);
  body.destroy();
  const start = Buffer.concat(chunks).subarray(0, RESPONSE_BYTES);
  return visibleText(new TextDecoder().decode(start, { stream: true }));
}
