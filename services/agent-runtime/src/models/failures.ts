import { APICallError } from '@ai-sdk/provider';
import { isOutOfCredit, isPromptFlagged, parseJson, retryAfterOf } from '@uswarm/service-kit';
import { causeCode } from './cause-code.js';
import { ModelError, type ModelErrorDetails } from './port.js';
import { type RefusedPart, refusedParts } from './refusals/parts.js';
import { isLoading, loadingMs, sentenceOf, webPage } from './refusals/sentences.js';
import { outputLimitOf, overflowOf } from './refusals/size.js';
import { isVague, wordsOf } from './refusals/words.js';

/** How a failed attempt can continue. */
export interface Failure {
  error: ModelError;
  /** True if the same request can succeed later. */
  transient: boolean;
  /** True if the provider asks callers to wait: it is overloaded, or loads the model. */
  limited: boolean;
  /** True if the server is loading the model. */
  loading?: boolean;
  /** Parts that the server refuses, the most likely first: the request can be repeated without them. */
  refused?: readonly RefusedPart[];
  /** The greatest output that the model has; `null` if it is not known. Only if the request asked for more. */
  outputLimit?: number | null;
}

/** The request that failed, as far as a server can refuse parts of it. */
export interface SentParts {
  fields: readonly string[];
  structural: ReadonlySet<string>;
}

export const NOTHING_SENT: SentParts = { fields: [], structural: new Set() };

/** The error as far as the provider described it. */
interface Described {
  status: number | undefined;
  /** As received. */
  body: string;
  /** The response's words, in lower case. */
  words: string;
  headers: Record<string, string>;
}

/** The provider's filter refused the prompt. */
const FILTERED = /content_filter|content_policy|content management policy|responsibleaipolicyviolation/;

const REFUSED = 'The model declined to answer.';

/** Statuses for which providers ask callers to wait. */
const LIMITED = new Set([429, 503, 529]);
const TRANSIENT = new Set([408, 409, 425]);
/** These statuses can have any cause. */
const UNEXPLAINED = new Set([400, 422]);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function describe(error: unknown): Described {
  if (APICallError.isInstance(error)) {
    const { statusCode, responseBody: body = '', responseHeaders = {} } = error;
    return { status: statusCode, body, words: wordsOf(body), headers: responseHeaders };
  }
  const fields = isObject(error) && !(error instanceof Error) ? error : {};
  const status = [fields['statusCode'], fields['status'], fields['code']].map(Number).find((code) => code >= 400);
  const own = isObject(error) && isObject(error['error']) ? error['error'] : error;
  const named = isObject(own)
    ? [own['type'], own['code'], own['message']].filter((word) => typeof word === 'string')
    : [];
  const body = JSON.stringify(isObject(error) && !(error instanceof Error) ? error : { message: named.join(' ') });
  const text = named.join(' ').toLowerCase();
  return { status: status ?? statusOfType(text), body, words: text, headers: {} };
}

/**
 * Status of an error that has only a type, in a stream or in a response with status 200.
 *
 * @param text its type, code and message in lower case
 */
export function statusOfType(text: string): number | undefined {
  if (/authentication_error|invalid_api_key/.test(text)) return 401;
  if (/permission_error/.test(text)) return 403;
  if (/not_found_error|model_not_found/.test(text)) return 404;
  if (/overloaded/.test(text)) return 529;
  if (/rate[ _-]?limit|throttling/.test(text)) return 429;
  if (/invalid_request/.test(text)) return 400;
  return undefined;
}

/** Model gateway codes. Other 402 responses come from providers whose operator must pay. */
const GATEWAY_LIMIT = 'token_limit_reached';
const GATEWAY_BUDGET = 'turn_budget_reached';
const GATEWAY_KEY_REJECTED = 'provider_credentials_rejected';
const GATEWAY_REDIRECTED = 'provider_redirected';
const GATEWAY_TOKEN_REFUSED = 'token_invalid';

function hasCode(body: string, code: string): boolean {
  const parsed = parseJson(body);
  const error = isObject(parsed) && isObject(parsed['error']) ? parsed['error'] : {};
  return error['code'] === code || error['type'] === code;
}

const final = (error: ModelError): Failure => ({ error, transient: false, limited: false });

/** Failures of which the model gateway, or the status alone, states the cause. */
function ownFailure({ status, body }: Described, details: ModelErrorDetails): Failure | undefined {
  if (status === 402 && hasCode(body, GATEWAY_BUDGET)) {
    const message = 'The token budget of this answer is reached.';
    return final(new ModelError('token_limit_reached', message, { ...details, budgetReached: true }));
  }
  if (status === 402 && hasCode(body, GATEWAY_LIMIT)) {
    return final(new ModelError('token_limit_reached', 'The token limit of this month is reached.', details));
  }
  // The gateway hides the provider's response, which a retry does not change.
  if (status === 502 && hasCode(body, GATEWAY_KEY_REJECTED)) {
    return final(new ModelError('model_rejected', sentenceOf(401, ''), details));
  }
  // The platform issued the token: neither the user nor the provider account is the cause.
  if (status === 401 && hasCode(body, GATEWAY_TOKEN_REFUSED)) {
    return final(new ModelError('model_unavailable', 'The model gateway refused the token of this answer.', details));
  }
  const redirected = status !== undefined && status >= 300 && status < 400;
  if (redirected || (status === 502 && hasCode(body, GATEWAY_REDIRECTED))) {
    return final(new ModelError('model_rejected', sentenceOf(redirected ? status : 300, ''), details));
  }
  return undefined;
}

/** Failures whose cause the response describes. */
function refusal({ status, body, words, headers }: Described, details: ModelErrorDetails): Failure | undefined {
  // The response quotes the prompt, which can have the words of any other error.
  if (status !== undefined && status < 500 && isPromptFlagged(body)) {
    return final(new ModelError('model_refused', REFUSED, details));
  }
  if (isOutOfCredit(status, words, details.retryAfterMs !== undefined)) {
    const message = `The account of the model provider has no credit left (status ${status ?? 'unknown'}: check its credit and billing).`;
    return final(new ModelError(status === 402 ? 'model_unavailable' : 'model_rejected', message, details));
  }
  if (status === undefined || status < 500) {
    if (FILTERED.test(words)) return final(new ModelError('model_refused', REFUSED, details));
  }
  const overflow = overflowOf(status, body, words);
  if (overflow !== undefined) {
    const message = 'The conversation is too long for the model.';
    const { limit } = overflow;
    const more = limit === undefined ? {} : { contextLimit: limit };
    return final(new ModelError('model_rejected', message, { ...details, contextOverflow: true, ...more }));
  }
  if (webPage(headers)) {
    const message =
      'The model provider answered with a web page instead of a response: check its URL, and proxies on the way.';
    // A captive portal or a proxy's error page is usually temporary.
    return { error: new ModelError('model_unavailable', message, details), transient: true, limited: false };
  }
  return undefined;
}

function unavailable(status: number | undefined, error: unknown, details: ModelErrorDetails): ModelError {
  if (status !== undefined)
    return new ModelError('model_unavailable', `The model provider failed (status ${status}).`, details);
  const code = causeCode(error);
  const reason = code === undefined ? '' : ` (${code})`;
  return new ModelError('model_unavailable', `The connection to the model provider failed${reason}.`, details);
}

/**
 * Classifies an attempt's failure. The message excludes the provider's text, which may quote the key or the prompt.
 *
 * @param sent what the request consisted of
 */
export function toFailure(error: unknown, sent: SentParts = NOTHING_SENT, now = Date.now()): Failure {
  if (error instanceof ModelError) return final(error);
  const described = describe(error);
  const { status, body, words, headers } = described;
  const retryAfterMs = retryAfterOf(headers, now);
  const details = { cause: error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  const known = ownFailure(described, details) ?? refusal(described, details);
  if (known !== undefined) return known;

  if (isLoading(status, words)) {
    const wait = retryAfterMs ?? loadingMs(body);
    const message = 'The model is still loading; try again later.';
    const loading = new ModelError('model_unavailable', message, {
      ...details,
      ...(wait === undefined ? {} : { retryAfterMs: wait }),
    });
    return { error: loading, transient: true, limited: true, loading: true };
  }
  // Other errors come from the client library or the connection.
  const isSaid = APICallError.isInstance(error) || !(error instanceof Error);
  const parts = isSaid ? refusedParts(status, words, sent) : [];
  const refused = parts.length === 0 ? {} : { refused: parts };
  if (status !== undefined && LIMITED.has(status)) {
    const limited = status !== 503;
    const message = 'The model provider is limiting requests; try again later.';
    const failed = limited
      ? new ModelError('model_rate_limited', message, details)
      : unavailable(status, error, details);
    return { error: failed, transient: true, limited };
  }
  if (status !== undefined && status >= 400 && status < 500 && !TRANSIENT.has(status)) {
    const outputLimit = outputLimitOf(words);
    const isKnown = parts.length > 0 || outputLimit !== undefined;
    const unexplained =
      UNEXPLAINED.has(status) && !isKnown ? ({ unexplained: isVague(words) ? 'vague' : 'other' } as const) : {};
    const rejected = new ModelError('model_rejected', sentenceOf(status, words), { ...details, ...unexplained });
    return { ...final(rejected), ...refused, ...(outputLimit === undefined ? {} : { outputLimit }) };
  }
  return { error: unavailable(status, error, details), transient: true, limited: false, ...refused };
}
