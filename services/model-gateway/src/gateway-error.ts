/** HTTP status by error that the gateway itself returns; provider errors are passed through. */
const STATUS = {
  invalid_request: 400,
  // The code of OpenAI and Azure for it.
  content_filter: 400,
  token_invalid: 401,
  token_limit_reached: 402,
  turn_budget_reached: 402,
  provider_credit_exhausted: 402,
  // Not 409, which provider clients retry.
  turn_not_running: 403,
  model_not_allowed: 403,
  route_not_found: 404,
  body_too_large: 413,
  recording_refused: 422,
  rate_limited: 429,
  provider_credentials_rejected: 502,
  provider_failed: 502,
  provider_redirected: 502,
  provider_unreachable: 502,
  orchestrator_unavailable: 503,
  provider_timeout: 504,
} as const;

export type GatewayErrorCode = keyof typeof STATUS;
export const GATEWAY_ERRORS = Object.keys(STATUS) as GatewayErrorCode[];

interface GatewayErrorOptions {
  retryAfterS?: number;
  outcomeUnknown?: boolean;
  cause?: unknown;
}

/** A call that the gateway ends itself. The message contains nothing from the request body. */
export class GatewayError extends Error {
  override name = 'GatewayError';
  readonly code: GatewayErrorCode;
  readonly status: number;
  /** Seconds until a retry can succeed. */
  readonly retryAfterS: number | undefined;
  /** Whether the orchestrator may have done what it was asked for, because there was no answer. */
  readonly outcomeUnknown: boolean;

  constructor(code: GatewayErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = STATUS[code];
    this.retryAfterS = options.retryAfterS;
    this.outcomeUnknown = options.outcomeUnknown ?? false;
  }
}
