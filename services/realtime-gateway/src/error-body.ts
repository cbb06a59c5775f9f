import { ApiError, type ErrorBody } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';

/**
 * The documented error object for anything that was thrown. What no client is meant to see becomes
 * `internal_error`; what is our fault is logged. spec: orchestrator §7
 */
export function toErrorBody(error: unknown, requestId: string, logger: Pick<Logger, 'error'>): ErrorBody {
  const shown = error instanceof ApiError ? error : new ApiError('internal_error');
  if (shown.status >= 500) logger.error({ err: error, requestId }, 'could not serve a client');
  const { message, code, extra } = shown;
  return { message, code, extra: { ...extra, request_id: requestId } as ErrorBody['extra'] };
}
