/** The API server refused a request; `reason` is from the Status (`AlreadyExists`, `Forbidden`, …). */
export class KubeError extends Error {
  override name = 'KubeError';
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly string[];
  readonly kind: string | undefined;
  /** Seconds from the Retry-After header. */
  readonly retryAfter: number | undefined;

  constructor(status: number, answer: StatusAnswer, retryAfter?: number) {
    super(answer.message ?? `the API server returned HTTP ${status}`);
    this.status = status;
    this.reason = answer.reason ?? '';
    this.causes = (answer.details?.causes ?? []).flatMap(({ reason }) => (reason === undefined ? [] : [reason]));
    this.kind = answer.details?.kind;
    this.retryAfter = retryAfter;
  }
}

/** A `Status`, the body of error responses. */
export interface StatusAnswer {
  message?: string;
  reason?: string;
  code?: number;
  details?: { kind?: string; causes?: { reason?: string }[] };
}

const has = (error: unknown, status: number, reason?: string): boolean =>
  error instanceof KubeError && error.status === status && (reason === undefined || error.reason === reason);

/**
 * Whether the server rejected the request, so that the same request fails again. 429 and 5xx are transient and do not
 * concern the request; neither does a connection error.
 */
export const isRefusal = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.status !== 429 && error.status < 500;

export const isNotFound = (error: unknown): boolean => has(error, 404);
export const isGone = (error: unknown): boolean => has(error, 410);
export const isAlreadyExists = (error: unknown): boolean => has(error, 409, 'AlreadyExists');
/** The object was changed by another client, or replaced by another object with the same name. */
export const isConflict = (error: unknown): boolean => has(error, 409, 'Conflict');
/** Access is denied until the credentials or RBAC rules change. */
export const isDenied = (error: unknown): boolean => has(error, 401) || has(error, 403);
/** The server cannot start at the requested version: it is invalid or in the future. */
export const isVersionRefused = (error: unknown): boolean =>
  has(error, 400) ||
  (error instanceof KubeError &&
    (error.causes.includes('ResourceVersionTooLarge') || error.message.includes('Too large resource version')));
