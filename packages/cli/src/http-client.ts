import { Readable } from 'node:stream';
import { Agent, request, type Dispatcher } from 'undici';
import { Failure } from './failure.js';

export interface HttpTimeouts {
  /** Time limit for connecting, in milliseconds. */
  connectMs: number;
  /** Time limit for sending the request, in milliseconds. */
  sendMs: number;
  /** Milliseconds without a response byte. */
  receiveMs: number;
}

// LIM-001, LIM-002, LIM-003
export const HTTP_TIMEOUTS: HttpTimeouts = { connectMs: 10_000, sendMs: 10_000, receiveMs: 60_000 };

export interface HttpRequest {
  method: string;
  url: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  signal?: AbortSignal;
}

export interface HttpResponse {
  status: number;
  /** Parsed JSON; undefined if the body is empty. */
  body: unknown;
  headers?: Record<string, string | string[] | undefined>;
}

export interface HttpClient {
  /** @throws Failure when there is no response in time, or its body is not JSON */
  send(call: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

export function createHttpClient(timeouts: HttpTimeouts = HTTP_TIMEOUTS): HttpClient {
  const agent = new Agent({
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.receiveMs,
    bodyTimeout: timeouts.receiveMs,
  });
  return {
    async send(call) {
      const { origin } = new URL(call.url);
      try {
        const { status, text, headers } = await exchange(agent, call, timeouts.sendMs);
        return { status, body: text === '' ? undefined : parseJson(text, origin), headers };
      } catch (error) {
        call.signal?.throwIfAborted();
        throw error instanceof Failure ? error : failureOf(error, origin, timeouts);
      }
    },
    close: () => agent.destroy(),
  };
}

async function exchange(agent: Agent, call: HttpRequest, sendMs: number) {
  const sendTimeout = new AbortController();
  const signals = call.signal === undefined ? [sendTimeout.signal] : [sendTimeout.signal, call.signal];
  const { headers: bodyHeaders, body } = jsonBody(call.json, () => sendTimeout.abort(new SendTimeout()), sendMs);
  const response = await request(call.url, {
    dispatcher: agent,
    method: call.method as Dispatcher.HttpMethod,
    headers: { accept: 'application/json', ...call.headers, ...bodyHeaders },
    body,
    signal: AbortSignal.any(signals),
  });
  return { status: response.statusCode, text: await response.body.text(), headers: response.headers };
}

/** Adapts the client to `fetch`, so that `@uswarm/client` keeps its time limits. JSON only. */
export function fetchWith(http: Pick<HttpClient, 'send'>): typeof globalThis.fetch {
  return async (input, { method = 'GET', headers = {}, body, signal } = {}) => {
    const { status, ...answer } = await http.send({
      method,
      url: String(input),
      headers: headers as Record<string, string>,
      json: typeof body === 'string' ? JSON.parse(body) : undefined,
      ...(signal && { signal }),
    });
    const text = answer.body === undefined ? null : JSON.stringify(answer.body);
    const position = answer.headers?.['x-workspace-position'];
    const positioned = position !== undefined && { 'x-workspace-position': String(position) };
    return new Response(text, { status, headers: { 'content-type': 'application/json', ...positioned } });
  };
}

class SendTimeout extends Error {
  readonly code = 'SEND_TIMEOUT';
}

function jsonBody(json: unknown, onTimeout: () => void, sendMs: number) {
  if (json === undefined) return { headers: {}, body: null };
  const bytes = Buffer.from(JSON.stringify(json));
  return {
    headers: { 'content-type': 'application/json', 'content-length': String(bytes.length) },
    body: Readable.from(inChunks(bytes, onTimeout, sendMs), { objectMode: false }),
  };
}

const CHUNK_BYTES = 64 * 1024;

/** undici has no time limit for sending, but it reads the next chunk only after it sent the previous one. */
async function* inChunks(bytes: Buffer, onTimeout: () => void, sendMs: number): AsyncGenerator<Buffer> {
  const timer = setTimeout(onTimeout, sendMs);
  try {
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES);
  } finally {
    clearTimeout(timer);
  }
}

function parseJson(text: string, origin: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Failure(`${origin} is not uswarm: the response is not JSON.`, { cause });
  }
}

function failureOf(cause: unknown, origin: string, timeouts: HttpTimeouts): Failure {
  const { code, message } = cause as { code?: string; message: string };
  switch (code) {
    case 'ECONNREFUSED':
      return new Failure(`${origin} refused the connection. Start uswarm with: npm start`, { cause });
    case 'UND_ERR_CONNECT_TIMEOUT':
      return new Failure(`${origin} could not be reached within ${timeouts.connectMs / 1000} s.`, { cause });
    case 'SEND_TIMEOUT':
      return new Failure(`${origin} did not accept the request within ${timeouts.sendMs / 1000} s.`, { cause });
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return new Failure(`${origin} did not respond within ${timeouts.receiveMs / 1000} s.`, { cause });
    default:
      return new Failure(`The request to ${origin} failed: ${message}`, { cause });
  }
}
