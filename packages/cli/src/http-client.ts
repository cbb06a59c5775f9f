import { Readable } from 'node:stream';
import { Agent, request, type Dispatcher } from 'undici';
import { Failure } from './failure.js';

export interface HttpTimeouts {
  /** Milliseconds until a connection must stand. */
  connectMs: number;
  /** Milliseconds until the whole body must be on its way. */
  sendMs: number;
  /** Milliseconds without a byte of the answer. */
  receiveMs: number;
}

/** spec: orchestrator §8 */
export const HTTP_TIMEOUTS: HttpTimeouts = { connectMs: 10_000, sendMs: 10_000, receiveMs: 60_000 };

export interface HttpRequest {
  method: string;
  url: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  signal?: AbortSignal;
}

export interface HttpAnswer {
  status: number;
  /** Parsed JSON; undefined where there is no body. */
  body: unknown;
}

export interface HttpClient {
  /** @throws Failure when nothing answers, in time and with JSON. */
  send(wanted: HttpRequest): Promise<HttpAnswer>;
  close(): Promise<void>;
}

export function createHttpClient(timeouts: HttpTimeouts = HTTP_TIMEOUTS): HttpClient {
  const agent = new Agent({
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.receiveMs,
    bodyTimeout: timeouts.receiveMs,
  });
  return {
    async send(wanted) {
      const { origin } = new URL(wanted.url);
      try {
        const { status, text } = await exchange(agent, wanted, timeouts.sendMs);
        return { status, body: text === '' ? undefined : parseJson(text, origin) };
      } catch (error) {
        wanted.signal?.throwIfAborted();
        throw error instanceof Failure ? error : failureOf(error, origin, timeouts);
      }
    },
    close: () => agent.destroy(),
  };
}

async function exchange(agent: Agent, wanted: HttpRequest, sendMs: number): Promise<{ status: number; text: string }> {
  const tooSlow = new AbortController();
  const signals = wanted.signal === undefined ? [tooSlow.signal] : [tooSlow.signal, wanted.signal];
  const { headers: bodyHeaders, body } = jsonBody(wanted.json, () => tooSlow.abort(new SendTimeout()), sendMs);
  const response = await request(wanted.url, {
    dispatcher: agent,
    method: wanted.method as Dispatcher.HttpMethod,
    headers: { accept: 'application/json', ...wanted.headers, ...bodyHeaders },
    body,
    signal: AbortSignal.any(signals),
  });
  return { status: response.statusCode, text: await response.body.text() };
}

class SendTimeout extends Error {
  readonly code = 'SEND_TIMEOUT';
}

function jsonBody(json: unknown, onTooSlow: () => void, sendMs: number) {
  if (json === undefined) return { headers: {}, body: null };
  const bytes = Buffer.from(JSON.stringify(json));
  return {
    headers: { 'content-type': 'application/json', 'content-length': String(bytes.length) },
    body: Readable.from(pieces(bytes, onTooSlow, sendMs), { objectMode: false }),
  };
}

const PIECE_BYTES = 64 * 1024;

/** undici has no time limit for sending, but it takes the next piece only when the last one has left. */
async function* pieces(bytes: Buffer, onTooSlow: () => void, sendMs: number): AsyncGenerator<Buffer> {
  const timer = setTimeout(onTooSlow, sendMs);
  try {
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) yield bytes.subarray(start, start + PIECE_BYTES);
  } finally {
    clearTimeout(timer);
  }
}

function parseJson(text: string, origin: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Failure(`What answers at ${origin} is not uswarm.`, { cause });
  }
}

function failureOf(cause: unknown, origin: string, timeouts: HttpTimeouts): Failure {
  const { code, message } = cause as { code?: string; message: string };
  switch (code) {
    case 'ECONNREFUSED':
      return new Failure(`Nothing answers at ${origin}. Start uswarm with: npm start`, { cause });
    case 'UND_ERR_CONNECT_TIMEOUT':
      return new Failure(`${origin} could not be reached within ${timeouts.connectMs / 1000} s.`, { cause });
    case 'SEND_TIMEOUT':
      return new Failure(`${origin} did not take the request within ${timeouts.sendMs / 1000} s.`, { cause });
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return new Failure(`${origin} did not answer within ${timeouts.receiveMs / 1000} s.`, { cause });
    default:
      return new Failure(`The request to ${origin} failed: ${message}`, { cause });
  }
}
