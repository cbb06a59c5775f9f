import { ApiError, type ErrorBody, type ErrorCode } from '@uswarm/contract';
import { currentContext, type Logger } from '@uswarm/service-kit';
import type { ErrorRequestHandler } from 'express';
import { exhaustedField } from '../features/rate-limits/rate-headers.js';
import { showLimit } from './rate-limit.js';

/** Postgres, Redis or a peer is away: the same request may work in a moment. */
const UNAVAILABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57014', // query_canceled: the statement deadline
  '53300', // too_many_connections
  '08006', // connection_failure
  '40001', // serialization_failure
  '40P01', // deadlock_detected
]);

/** What the Postgres driver and its pool say without a code. */
const NO_CONNECTION = [
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed',
  'Query read timeout',
  'timeout exceeded when trying to connect',
];

/** Most outages are a restart; asking again sooner would only add to it. */
const UNAVAILABLE_RETRY_MS = 1_000;

/** Errors of the body parser, by its own `type`. */
const PARSER_ERRORS: ReadonlyMap<unknown, ErrorCode> = new Map([
  ['entity.parse.failed', 'malformed_json'],
  ['entity.too.large', 'payload_too_large'],
  ['encoding.unsupported', 'unsupported_media_type'],
  ['charset.unsupported', 'unsupported_media_type'],
  ['request.size.invalid', 'malformed_json'],
  ['request.aborted', 'malformed_json'],
]);

/** A compressed body that is not what its header says. */
const UNPACK_ERRORS: ReadonlyMap<unknown, ErrorCode> = new Map([
  ['Z_DATA_ERROR', 'malformed_json'],
  ['Z_BUF_ERROR', 'malformed_json'],
]);

/** Why the work for a request ended early. There is no one left to send a response to. */
export class ClientGone extends Error {
  override name = 'ClientGone';

  constructor() {
    super('the client closed the connection');
  }
}

/** The one place where anything thrown becomes an error of the catalogue. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code, type } = (error ?? {}) as { code?: unknown; type?: unknown };
  const parserError = PARSER_ERRORS.get(type) ?? UNPACK_ERRORS.get(code);
  if (parserError !== undefined) return new ApiError(parserError, { cause: error });
  const message = error instanceof Error ? error.message : '';
  const unavailable =
    (typeof code === 'string' && UNAVAILABLE.has(code)) || NO_CONNECTION.some((start) => message.startsWith(start));
  if (!unavailable) return new ApiError('internal_error', { cause: error });
  return new ApiError('service_unavailable', { cause: error, extra: { retry_after_ms: UNAVAILABLE_RETRY_MS } });
}

/** spec: orchestrator §7 */
export function errorBody(error: ApiError): ErrorBody {
  const requestId = currentContext()?.requestId ?? '';
  return {
    message: error.message,
    code: error.code,
    extra: { ...error.extra, request_id: requestId } as ErrorBody['extra'],
  };
}

/** The one error handler. What is our own fault is logged with its cause; a client sees none of it. */
export function createErrorHandler(logger: Logger): ErrorRequestHandler {
  return (thrown, _request, response, next) => {
    if (thrown instanceof ClientGone) return;
    const error = toApiError(thrown);
    response.locals['code'] = error.code;
    if (error.status >= 500) {
      logger.error({ err: error.cause ?? thrown, code: error.code }, 'a request failed');
    }
    if (response.headersSent) {
      next(thrown);
      return;
    }
    const { retry_after_ms: retryAfter, limit } = error.extra;
    if (typeof retryAfter === 'number') {
      response.set('Retry-After', String(Math.ceil(retryAfter / 1000)));
      if (typeof limit === 'string') showLimit(response, exhaustedField(limit, retryAfter));
    }
    response.status(error.status).json(errorBody(error));
  };
}
