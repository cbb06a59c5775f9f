import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { ApiError, ErrorBody, ERRORS } from '@uswarm/contract';

/** Statuses with the header `Retry-After`. */
const RETRY_STATUSES: ReadonlySet<number> = new Set([429, 503]);
/** Clients that are refused together must not return together. */
const RETRY_MS = { least: 1_000, spread: 4_000 };

/** Sends the documented error object, unless the client has left. */
export function refuse(response: ServerResponse, body: ErrorBody): void {
  if (response.headersSent || response.destroyed) return;
  const { status } = ERRORS[body.code];
  const retryMs = body.extra?.retry_after_ms ?? RETRY_MS.least + RETRY_MS.spread * Math.random();
  response.setHeader('x-request-id', body.extra?.request_id ?? '');
  if (RETRY_STATUSES.has(status)) response.setHeader('retry-after', Math.ceil(retryMs / 1_000));
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

export function errorBody({ message, code, extra }: ApiError): ErrorBody {
  return { message, code, extra: { ...extra, request_id: randomUUID() } };
}

/** The error object in what socket.io sends to a refused client. Without one, the client may try again. */
export function readErrorBody(value: unknown): ErrorBody {
  const { success, data } = ErrorBody.safeParse(value);
  return success ? data : errorBody(new ApiError('service_unavailable'));
}
