import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '@uswarm/contract';
import { backoffDelay, isNotConnected, startDeadline } from '@uswarm/service-kit';
import { createOutgoing, type OutgoingProxy } from '@uswarm/service-kit/outgoing';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { isFromProxy, oddAsAbsent, readableOf, readJson } from '../../platform/http/foreign-answer.js';
import { readText } from '../../platform/http/read-text.js';
import { UncertainOutcome } from '../../turns/tools/platform-tool.js';

export interface ProviderRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to the API's base URL, with encoded parts. */
  path: string;
  query?: Record<string, string | string[]>;
  body?: unknown;
  /** The version that the change is based on. */
  ifMatch?: string;
  signal?: AbortSignal;
}

/** `scope`: the user has not granted the permission. `limit`: the provider has received too many requests. */
export type RefusalReason = 'scope' | 'limit';

/** The request was not executed. */
export class RequestRefused extends Error {
  override name = 'RequestRefused';
  /** The HTTP status; 0 if the server was not reached; 401 if the user has not connected the app, or no longer has. */
  readonly status: number;
  /** Only for status 403. */
  readonly reason: RefusalReason | undefined;

  constructor(status: number, message: string, { reason, cause }: { reason?: RefusalReason; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.reason = reason;
  }
}

export interface ProviderApi {
  /**
   * Sends a request and parses its JSON answer. Repeats a GET request after a temporary failure.
   *
   * @throws RequestRefused
   * @throws UncertainOutcome if the request may have been executed
   */
  call<Answer>(userId: string, request: ProviderRequest, schema: z.ZodType<Answer>): Promise<Answer>;
  close(): Promise<void>;
}

export interface ProviderApiDeps {
  /** Without a trailing slash. */
  baseUrl: string;
  /** @throws ApiError `integration_not_found`, `integration_unavailable` */
  accessToken: (userId: string, signal?: AbortSignal) => Promise<string>;
  /**
   * Replaces a token that the API has rejected. Without it, such a request is refused.
   *
   * @throws ApiError `integration_not_found` if the app is not connected any longer, `integration_unavailable`
   */
  replaceToken?: (userId: string, rejected: string, signal?: AbortSignal) => Promise<string>;
  proxy: OutgoingProxy;
  /** Time limit in ms for a request without an answer. Default: ten seconds. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const READS = 3;
const RETRY = { initialMs: 250, maxMs: 2_000 };

const TOO_MANY_REQUESTS = 429;
/** A proxy may send it although the request has reached the server behind it. */
const REQUEST_TIMEOUT = 408;

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

const Reason = z.object({ reason: z.string() });
const ErrorAnswer = z.object({
  error: z.object({
    message: oddAsAbsent(z.string()),
    errors: readableOf(Reason),
    details: readableOf(Reason),
  }),
});
type ErrorAnswer = z.output<typeof ErrorAnswer>['error'];

/** Google's reasons for status 403: https://developers.google.com/workspace/calendar/api/guides/errors */
const SCOPE_REASONS = /^(insufficientPermissions|insufficientScopes|ACCESS_TOKEN_SCOPE_INSUFFICIENT)$/;
const LIMIT_REASONS = /^(\w*rateLimitExceeded|quotaExceeded|dailyLimitExceeded|RATE_LIMIT_EXCEEDED)$/i;

function reasonOf(status: number, error: ErrorAnswer | undefined, challenge: string): RefusalReason | undefined {
  if (status !== FORBIDDEN) return undefined;
  const reasons = [...(error?.errors ?? []), ...(error?.details ?? [])].map(({ reason }) => reason);
  if (challenge.includes('insufficient_scope') || reasons.some((reason) => SCOPE_REASONS.test(reason))) return 'scope';
  return reasons.some((reason) => LIMIT_REASONS.test(reason)) ? 'limit' : undefined;
}

const isTemporary = (error: unknown): boolean =>
  error instanceof UncertainOutcome ||
  (error instanceof RequestRefused &&
    (error.status === 0 || error.status === TOO_MANY_REQUESTS || error.reason === 'limit'));

export function createProviderApi(deps: ProviderApiDeps): ProviderApi {
  const { baseUrl, accessToken, replaceToken, proxy, timeoutMs = TIMEOUT_MS } = deps;
  const outgoing = createOutgoing(proxy, { connectMs: 5_000 });

  async function tokenFrom(issued: Promise<string>): Promise<string> {
    try {
      return await issued;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const status = error.code === 'integration_not_found' ? UNAUTHORIZED : 0;
      throw new RequestRefused(status, 'there is no valid access token', { cause: error });
    }
  }

  async function send(
    token: string,
    { method, path, query, body, ifMatch }: ProviderRequest,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const url = new URL(`${baseUrl}/${path}`);
    for (const [name, values] of Object.entries(query ?? {}))
      for (const value of [values].flat()) url.searchParams.append(name, value);
    try {
      // Redirects are not followed, so that tokens are sent only to the configured address.
      return await outgoing.request(url, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      });
    } catch (error) {
      const { code } = error as { code?: string };
      if (isNotConnected(error)) throw new RequestRefused(0, `no connection: ${code}`, { cause: error });
      throw new UncertainOutcome('there was no answer', { cause: error });
    }
  }

  async function readAnswer({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<unknown> {
    const text = await readText(body, MAX_ANSWER_BYTES).catch((error: unknown) => {
      throw new UncertainOutcome('the answer could not be read', { cause: error });
    });
    const json = readJson(text);
    const isForeign = isFromProxy(statusCode, text) || (statusCode < 300 && json === undefined && text !== '');
    // It may still have passed the request on.
    if (isForeign || statusCode >= 500 || statusCode === REQUEST_TIMEOUT)
      throw new UncertainOutcome(`the answer has status ${statusCode}${isForeign ? ' and is not from the API' : ''}`);
    if (statusCode < 300) return json;
    const { error } = ErrorAnswer.safeParse(json).data ?? {};
    const reason = reasonOf(statusCode, error, String(headers['www-authenticate'] ?? ''));
    const message = (error?.message ?? `status ${statusCode}`).slice(0, 500);
    throw new RequestRefused(statusCode, message, reason === undefined ? {} : { reason });
  }

  async function exchange(token: string, asked: ProviderRequest): Promise<unknown> {
    const deadline = startDeadline(timeoutMs, asked.signal);
    try {
      return await readAnswer(await send(token, asked, deadline.signal));
    } finally {
      deadline.end();
    }
  }

  /**
   * Repeats a request once with a new token if the API rejects the current one: a rejected request was not executed.
   */
  async function answerTo(userId: string, asked: ProviderRequest): Promise<unknown> {
    const token = await tokenFrom(accessToken(userId, asked.signal));
    try {
      return await exchange(token, asked);
    } catch (error) {
      const isRejected = error instanceof RequestRefused && error.status === UNAUTHORIZED;
      if (!isRejected || replaceToken === undefined) throw error;
      return await exchange(await tokenFrom(replaceToken(userId, token, asked.signal)), asked);
    }
  }

  async function once<Answer>(userId: string, asked: ProviderRequest, schema: z.ZodType<Answer>): Promise<Answer> {
    const { data, error } = schema.safeParse(await answerTo(userId, asked));
    if (error !== undefined) throw new UncertainOutcome('the answer has an unknown form', { cause: error });
    return data as Answer;
  }

  return {
    async call(userId, asked, schema) {
      for (let tries = 1; ; tries += 1) {
        try {
          return await once(userId, asked, schema);
        } catch (error) {
          const again = asked.method === 'GET' && tries < READS && isTemporary(error) && asked.signal?.aborted !== true;
          if (!again) throw error;
          await sleep(backoffDelay(RETRY, tries - 1));
        }
      }
    },
    close: () => outgoing.close(),
  };
}
