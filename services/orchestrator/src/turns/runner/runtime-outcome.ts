import { Code, type ConnectError } from '@connectrpc/connect';

/** Errors that a retry does not change. */
const FINAL_CODES = new Set([
  Code.InvalidArgument,
  Code.OutOfRange,
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.Unimplemented,
]);

/**
 * What an error of a runtime means for a turn: `lost`: the runtime does not know it; `refused`: the runtime will not run it;
 * `interrupted`: it can be followed again. Pure.
 */
export function outcomeOf({ code }: Pick<ConnectError, 'code'>): 'lost' | 'refused' | 'interrupted' {
  if (code === Code.NotFound) return 'lost';
  return FINAL_CODES.has(code) ? 'refused' : 'interrupted';
}
