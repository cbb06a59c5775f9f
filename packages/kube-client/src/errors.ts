/** The API server refused a request; `reason` is the machine's word for it (`AlreadyExists`, `Forbidden`, …). */
export class KubeError extends Error {
  override name = 'KubeError';
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly string[];
  readonly kind: string | undefined;
  /** Seconds, as the server asks for. */
  readonly retryAfter: number | undefined;

  constructor(status: number, answer: StatusAnswer, retryAfter?: number) {
    super(answer.message ?? `the API server answered ${status}`);
    this.status = status;
    this.reason = answer.reason ?? '';
    this.causes = (answer.details?.causes ?? []).flatMap(({ reason }) => (reason === undefined ? [] : [reason]));
    this.kind = answer.details?.kind;
    this.retryAfter = retryAfter;
  }
}

/** `Status`, the body of a refusal. */
export interface StatusAnswer {
  message?: string;
  reason?: string;
  code?: number;
  details?: { kind?: string; causes?: { reason?: string }[] };
}

const has = (error: unknown, status: number, reason?: string): boolean =>
  error instanceof KubeError && error.status === status && (reason === undefined || error.reason === reason);

/**
 * The server understood and said no: the same request gets the same answer. "Too many requests" and
 * the server's own troubles pass, and say nothing about what was asked; so does no answer at all.
 */
export const isRefusal = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.status !== 429 && error.status < 500;

export const isNotFound = (error: unknown): boolean => has(error, 404);
export const isGone = (error: unknown): boolean => has(error, 410);
export const isAlreadyExists = (error: unknown): boolean => has(error, 409, 'AlreadyExists');
/** Somebody else wrote in between; also an object that was replaced by another of its name. */
export const isConflict = (error: unknown): boolean => has(error, 409, 'Conflict');
/** We may not; the credentials or the grants have to change before it can go on. */
export const isDenied = (error: unknown): boolean => has(error, 401) || has(error, 403);
/** The server cannot begin at the version that was asked for: it is invalid, or later than what the server has. */
export const isVersionRefused = (error: unknown): boolean =>
  has(error, 400) ||
  (error instanceof KubeError &&
    (error.causes.includes('ResourceVersionTooLarge') || error.message.includes('Too large resource version')));
