import { Code, type ConnectError } from '@connectrpc/connect';

/** Errors that a retry cannot change. */
const FINAL_CODES = new Set([
  Code.InvalidArgument,
  Code.OutOfRange,
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.Unimplemented,
]);

/**
 * `lost`: the runtime does not know the turn; `refused`: it will not run the turn; `interrupted`: the turn can be
 * followed again. Pure.
 */
export function outcomeOf({ code }: Pick<ConnectError, 'code'>): 'lost' | 'refused' | 'interrupted' {
  if (code === Code.NotFound) return 'lost';
  return FINAL_CODES.has(code) ? 'refused' : 'interrupted';
}
