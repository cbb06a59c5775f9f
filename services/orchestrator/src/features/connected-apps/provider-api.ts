import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '@uswarm/contract';
import { backoffDelay, isNotConnected, parseJson, startDeadline } from '@uswarm/service-kit';
import { Agent, type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { readText } from '../../http/read-text.js';
import { UncertainOutcome } from '../tools/platform-tool.js';

export interface ProviderRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to the base URL of the API, with encoded parts. */
  path: string;
  query?: Record<string, string | string[]>;
  body?: unknown;
  /** The version that the change is based on. */
  ifMatch?: string;
  signal?: AbortSignal;
}

/** The request was not executed. */
export class RequestRefused extends Error {
  override name = 'RequestRefused';
  /** The HTTP status; 0 if the server was not reached; 401 if the user has not connected the app. */
  readonly status: number;

  constructor(status: number, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
  }
}

/** Calls the API of a provider with the tokens of users. */
export interface ProviderApi {
  /**
   * Sends a request and parses its JSON answer. Repeats a GET request that failed for a moment.
   *
   * @throws RequestRefused
   * @throws UncertainOutcome if the request may have been executed
   */
  call<Answer>(userId: string, request: ProviderRequest, schema: z.ZodType<Answer>): Promise<Answer>;
  close(): Promise<void>;
}

export interface ProviderApiDeps {
  /** Base URL of the API, without a slash at the end. */
  baseUrl: string;
  /** @throws ApiError `integration_not_found`, `integration_unavailable` */
  accessToken: (userId: string) => Promise<string>;
  /** Milliseconds until a request without an answer ends. Default: ten seconds. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** Attempts of GET requests. */
const READS = 3;
const RETRY = { initialMs: 250, maxMs: 2_000 };

const TOO_MANY_REQUESTS = 429;
/** A proxy may send it although the request has reached the server behind it. */
const REQUEST_TIMEOUT = 408;

const ErrorAnswer = z.object({ error: z.object({ message: z.string() }) });

const isTemporary = (error: unknown): boolean =>
  error instanceof UncertainOutcome ||
  (error instanceof RequestRefused && (error.status === 0 || error.status === TOO_MANY_REQUESTS));

export function createProviderApi({ baseUrl, accessToken, timeoutMs = TIMEOUT_MS }: ProviderApiDeps): ProviderApi {
  const dispatcher = new Agent({ connect: { timeout: 5_000 } });

  async function tokenOf(userId: string): Promise<string> {
    try {
      return await accessToken(userId);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const status = error.code === 'integration_not_found' ? 401 : 0;
      throw new RequestRefused(status, 'there is no valid access token', error);
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
      return await request(url, {
        method,
        dispatcher,
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
      if (isNotConnected(error)) throw new RequestRefused(0, `no connection: ${code}`, error);
      throw new UncertainOutcome('there was no answer', { cause: error });
    }
  }

  async function readAnswer({ statusCode, body }: Dispatcher.ResponseData): Promise<unknown> {
    const text = await readText(body, MAX_ANSWER_BYTES).catch((error: unknown) => {
      throw new UncertainOutcome('the answer could not be read', { cause: error });
    });
    const json = parseJson(text);
    if (statusCode < 300) return json;
    if (statusCode < 400 || statusCode >= 500 || statusCode === REQUEST_TIMEOUT)
      throw new UncertainOutcome(`the answer has status ${statusCode}`);
    const message = ErrorAnswer.safeParse(json).data?.error.message ?? `status ${statusCode}`;
    throw new RequestRefused(statusCode, message.slice(0, 500));
  }

  async function once<Answer>(userId: string, asked: ProviderRequest, schema: z.ZodType<Answer>): Promise<Answer> {
    const token = await tokenOf(userId);
    const deadline = startDeadline(timeoutMs, asked.signal);
    let answer: unknown;
    try {
      answer = await readAnswer(await send(token, asked, deadline.signal));
    } finally {
      deadline.end();
    }
    const { data, error } = schema.safeParse(answer);
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
    close: () => dispatcher.close(),
  };
}
