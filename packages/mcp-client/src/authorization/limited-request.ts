import type { FetchLike } from '@modelcontextprotocol/client';
import { startDeadline, unlessAborted } from '@uswarm/service-kit';
import type { z } from 'zod';
import { AuthorizationFailure, quoted } from './authorization-failure.js';

export interface RequestOptions {
  /** Sends all requests. It must not follow redirects: they are refused. */
  fetch: FetchLike;
  signal: AbortSignal;
  /** Milliseconds per request. Default: 10 s */
  timeoutMs?: number | undefined;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: string;
}

interface Ask {
  url: URL;
  init?: Pick<RequestInit, 'method' | 'headers' | 'body'>;
  /** False: the answer may be an endless stream. */
  readsBody?: boolean;
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 256 * 1024;

/** @throws AuthorizationFailure; the reason of `signal` */
export async function ask(
  { url, init = {}, readsBody = true }: Ask,
  { fetch, signal, timeoutMs = TIMEOUT_MS }: RequestOptions,
): Promise<Answer> {
  const deadline = startDeadline(timeoutMs, signal);
  const send = async (): Promise<Answer> => {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: deadline.signal });
    const { status, headers } = response;
    if (readsBody) return { status, headers, body: await readBody(response, url) };
    await response.body?.cancel();
    return { status, headers, body: '' };
  };
  try {
    return await unlessAborted(send(), deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AuthorizationFailure) throw error;
    const problem = deadline.expired() ? `did not answer within ${timeoutMs / 1_000} s` : 'could not be reached';
    throw new AuthorizationFailure('unreachable', `${quoted(url.href)} ${problem}${codeOf(error)}`, error);
  } finally {
    deadline.end();
  }
}

async function readBody({ body }: Response, url: URL): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES)
      throw new AuthorizationFailure('invalid', `the answer of ${quoted(url.href)} is longer than 256 KiB`);
    chunks.push(chunk);
  }
  // Some servers begin JSON with a byte order mark, which the decoder removes.
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** Such as ` (ENOTFOUND)`. The global `fetch` has it in the cause. */
function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  const found = typeof code === 'string' ? code : cause?.code;
  return typeof found === 'string' ? ` (${quoted(found)})` : '';
}

export const isRedirect = (status: number): boolean => status >= 300 && status < 400;

/** A retry may succeed. */
export const isPassing = (status: number): boolean => status >= 500 || status === 408 || status === 429;

/** A field that counts as absent if it is null, empty or of another type. */
export const oddAsAbsent = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);
