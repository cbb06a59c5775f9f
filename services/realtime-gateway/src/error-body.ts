import { ApiError, type ErrorBody } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';

/** True if the same request may succeed later. An error without a code is a bug, which a new release may fix. */
export const isTransient = (error: unknown): boolean => !(error instanceof ApiError) || error.retryable;

/**
 * The documented error object for a thrown value. An error without a code becomes `internal_error`; server errors are
 * logged.
 */
export function toErrorBody(error: unknown, requestId: string, logger: Pick<Logger, 'error'>): ErrorBody {
  const apiError = error instanceof ApiError ? error : new ApiError('internal_error');
  if (apiError.status >= 500) logger.error({ err: error, requestId }, 'request failed');
  const { message, code, extra } = apiError;
  return { message, code, extra: { ...extra, request_id: requestId } as ErrorBody['extra'] };
}
