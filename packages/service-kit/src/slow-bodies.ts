import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** Minimum speed of a request body. */
export interface BodyRules {
  /** Milliseconds without a byte after which a request is ended. */
  stallMs: number;
  /** Minimum average, from `stallMs` on. */
  minBytesPerS: number;
}

/**
 * Slow mobile networks send ten times as fast. The largest JSON body in the public API arrives within the request
 * timeout.
 */
const BODY_RULES: BodyRules = { stallMs: 15_000, minBytesPerS: 1_024 };

const TICKS_PER_STALL = 15;

/** A body that is not yet complete. */
interface Body {
  response: ServerResponse;
  /** The connection's `bytesRead` at the last tick. */
  seen: number;
  bytes: number;
  /** Milliseconds in which the server read the body. */
  readMs: number;
  idleMs: number;
}

const answers = new WeakMap<IncomingMessage, () => object>();

/** Sets the JSON body for a 408 response to this request if its body arrives too slowly. */
export function answerSlowBody(request: IncomingMessage, render: () => object): void {
  answers.set(request, render);
}

/**
 * Ends requests with 408 if their body stands still or drips, whatever reads it. Node only limits the time of a whole
 * request, which must be long enough for large files. Time in which the server does not read is not counted.
 *
 * @returns a function that ends the checks
 */
export function endSlowBodies(server: Server, { stallMs, minBytesPerS }: BodyRules = BODY_RULES): () => void {
  const bodies = new Map<IncomingMessage, Body>();
  const intervalMs = stallMs / TICKS_PER_STALL;
  server.prependListener('request', (request, response) => {
    if (!hasBody(request)) return;
    bodies.set(request, { response, seen: request.socket.bytesRead, bytes: 0, readMs: 0, idleMs: 0 });
    response.once('close', () => {
      if (request.complete) bodies.delete(request);
    });
  });
  let ticked = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    // A process that was stopped or busy must not blame its clients.
    const elapsedMs = Math.min(now - ticked, 2 * intervalMs);
    ticked = now;
    for (const [request, body] of bodies) {
      if (request.complete || request.socket.destroyed) {
        bodies.delete(request);
        continue;
      }
      const arrived = request.socket.bytesRead - body.seen;
      body.seen += arrived;
      body.bytes += arrived;
      if (arrived > 0 || !isRead(request)) body.idleMs = 0;
      else body.idleMs += elapsedMs;
      if (isRead(request)) body.readMs += elapsedMs;
      const late = body.readMs >= stallMs && (body.bytes / body.readMs) * 1_000 < minBytesPerS;
      if (body.idleMs >= stallMs || late) {
        bodies.delete(request);
        end(request, body.response);
      }
    }
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Whether something reads the body, and is not slower than the client: then the buffer is full. */
const isRead = (request: IncomingMessage): boolean =>
  (request.readableFlowing === true || request.listenerCount('readable') > 0) &&
  request.readableLength < request.readableHighWaterMark;

/**
 * Ends the request. The body's reader then fails as after a client that left: Node only reports it before a response.
 */
function end(request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) {
    request.destroy();
    return;
  }
  const gone = Object.assign(new Error('the body arrived too slowly'), { code: 'ECONNRESET' });
  request.socket.once('close', () => request.destroy(gone));
  const text = JSON.stringify(answers.get(request)?.() ?? { error: 'the body arrived too slowly' });
  response.statusCode = 408;
  response.setHeader('Connection', 'close');
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}
