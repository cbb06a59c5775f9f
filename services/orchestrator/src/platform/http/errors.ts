import { AsyncResource } from 'node:async_hooks';
import { ApiError, type ErrorBody, type ErrorCode, type RouteDefinition } from '@uswarm/contract';
import { answerSlowBody, currentContext, type Logger } from '@uswarm/service-kit';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { exhaustedField } from '../rate-limits/rate-headers.js';
import { showLimit } from './rate-limit.js';

/** Postgres, Redis or a peer is unavailable. A retry can succeed. */
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
  '53100', // disk_full
  '53300', // too_many_connections
  '58030', // io_error
  '08P01', // protocol_violation: poolers report a lost server with it
  '08006', // connection_failure
  '25006', // read_only_sql_transaction: the server is a standby after a failover
  '25P03', // idle_in_transaction_session_timeout
  '40001', // serialization_failure
  '40P01', // deadlock_detected
]);

const FOREIGN_KEY_VIOLATION = '23503';

/** Maps a foreign key's column, with which its constraint name ends, to the error for the missing parent row. */
const PARENTS: readonly [column: string, code: ErrorCode][] = [
  ['user_id', 'user_deleted'],
  ['owner_id', 'user_deleted'],
  ['workspace_id', 'workspace_not_found'],
  ['conversation_id', 'conversation_not_found'],
  ['agent_id', 'agent_not_found'],
];

/** The Postgres driver and its pool report these errors without a code. */
const NO_CONNECTION = [
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed',
  'Query read timeout',
  'timeout exceeded when trying to connect',
];

/** Most outages are restarts; earlier retries would only add load. */
const UNAVAILABLE_RETRY_MS = 1_000;

/** Body parser errors by `type`. */
const PARSER_ERRORS: ReadonlyMap<unknown, ErrorCode> = new Map([
  ['entity.parse.failed', 'malformed_json'],
  ['entity.too.large', 'payload_too_large'],
  ['encoding.unsupported', 'unsupported_media_type'],
  ['charset.unsupported', 'unsupported_media_type'],
  ['request.size.invalid', 'malformed_json'],
  ['request.aborted', 'malformed_json'],
]);

/** zlib, zstd and brotli report these codes if a compressed body does not match its header. */
const UNPACK_ERROR = /^(Z_(DATA|BUF)_ERROR$|Z_NEED_DICT$|ZSTD_error_|ERR__ERROR_FORMAT_|ERR_BROTLI_)/;

/** Abort reason for a request whose client closed the connection. No response is sent. */
export class ClientGone extends Error {
  override name = 'ClientGone';

  constructor() {
    super('the client closed the connection');
  }
}

const isForeignKeyViolation = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === FOREIGN_KEY_VIOLATION;

/** The request had found the user, workspace, conversation or agent before it was deleted. */
function deletedParent(error: { code?: unknown; constraint?: unknown }): ErrorCode | undefined {
  const { constraint } = error;
  if (!isForeignKeyViolation(error) || typeof constraint !== 'string') return undefined;
  return PARENTS.find(([column]) => constraint.endsWith(`_${column}_fkey`))?.[1];
}

/** Maps any thrown value to an error in the catalogue. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code, type, constraint } = (error ?? {}) as { code?: unknown; type?: unknown; constraint?: unknown };
  const requestError =
    PARSER_ERRORS.get(type) ??
    (typeof code === 'string' && UNPACK_ERROR.test(code) ? 'malformed_json' : undefined) ??
    deletedParent({ code, constraint });
  if (requestError !== undefined) return new ApiError(requestError, { cause: error });
  const message = error instanceof Error ? error.message : '';
  const unavailable =
    (typeof code === 'string' && UNAVAILABLE.has(code)) || NO_CONNECTION.some((start) => message.startsWith(start));
  if (!unavailable) return new ApiError('internal_error', { cause: error });
  return new ApiError('service_unavailable', { cause: error, extra: { retry_after_ms: UNAVAILABLE_RETRY_MS } });
}

// ERR-001 ERR-002 ERR-003
export function errorBody(error: ApiError): ErrorBody {
  const requestId = currentContext()?.requestId ?? '';
  return {
    message: error.message,
    code: error.code,
    extra: { ...error.extra, request_id: requestId } as ErrorBody['extra'],
  };
}

/** Gives 408 responses the error envelope. Comes after the request has its id. */
export const answerSlowBodies: RequestHandler = (request, response, next) => {
  const answer = AsyncResource.bind(() => {
    const { route } = response.locals as { route?: RouteDefinition };
    const error = new ApiError(route?.multipart === undefined ? 'request_timeout' : 'upload_stalled');
    response.locals['code'] = error.code;
    return errorBody(error);
  });
  answerSlowBody(request, answer);
  next();
};

/** The body of an error in another protocol. */
type ErrorForm = (error: ApiError) => object;

const ERROR_FORM = 'errorForm';

/** For clients that read only the errors of another protocol. */
export function answerErrorsAs(response: Response, form: ErrorForm): void {
  response.locals[ERROR_FORM] = form;
}

/** Logs internal errors with their cause, which is not sent to the client. */
export function createErrorHandler(logger: Logger): ErrorRequestHandler {
  return (thrown, _request, response, next) => {
    if (thrown instanceof ClientGone) return;
    const error = toApiError(thrown);
    response.locals['code'] = error.code;
    if (error.status >= 500) {
      logger.error({ err: error.cause ?? thrown, code: error.code }, 'a request failed');
    } else if (isForeignKeyViolation(thrown)) {
      // A wrong id in our code has the same effect.
      logger.warn({ err: thrown, code: error.code }, 'a request referred to a deleted row');
    }
    // Nothing is left to do for a body that was too slow; express would print the error.
    if (response.writableFinished) return;
    if (response.headersSent) {
      next(thrown);
      return;
    }
    const { retry_after_ms: retryAfter, limit, size } = error.extra;
    // RFC 9110 §15.5.17
    if (error.code === 'range_not_satisfiable') response.set('Content-Range', `bytes */${String(size)}`);
    if (typeof retryAfter === 'number') {
      response.set('Retry-After', String(Math.ceil(retryAfter / 1000)));
      if (typeof limit === 'string') showLimit(response, exhaustedField(limit, retryAfter));
    }
    const inForm = response.locals[ERROR_FORM] as ErrorForm | undefined;
    response.status(error.status).json((inForm ?? errorBody)(error));
  };
}
