import { APICallError } from '@ai-sdk/provider';
import { isPromptFlagged, parseJson } from '@uswarm/service-kit';
import { retryAfterOf } from './retry-after.js';
import { ModelError } from './port.js';

/** How a failed attempt can continue. */
export interface Failure {
  error: ModelError;
  /** Whether the same request can succeed later. */
  transient: boolean;
  /** Whether the provider is overloaded and asks callers to wait. */
  limited: boolean;
  /** The optional parameter that the provider rejected. */
  rejectedParameter?: string;
}

/** The error as far as the provider described it. */
interface Described {
  status: number | undefined;
  /** Lower case. */
  text: string;
  headers: Record<string, string>;
}

const OVERFLOW = [
  /context[ _-]?(?:length|window|size)/,
  /prompt is too long/,
  /input (?:token count|is too long|length)/,
  /maximum (?:context|number of (?:input )?tokens)/,
  /too many (?:input )?tokens/,
  /exceeds? the (?:model's )?(?:available|maximum) (?:context|input)/,
];

const REJECTS_PARAMETER =
  /unsupported|unknown|unrecognized|unexpected|not (?:permitted|supported|allowed)|extra (?:inputs|fields)|invalid (?:field|parameter|value)|no such field|too large|at most|less than|must be/;

/** The filter of the provider refused the prompt. */
const FILTERED = /content_filter|content_policy|content management policy|responsibleaipolicyviolation/;

const REFUSED = 'The model declined to answer.';

/** The account of the operator has no credit, which no waiting changes. */
const NO_CREDIT = /insufficient_quota|billing_hard_limit|credit balance is too low/;

/** Statuses for which providers ask callers to wait. */
const LIMITED = new Set([429, 503, 529]);
const TRANSIENT = new Set([408, 409, 425]);

/** A limit of tokens per minute can have the words of an overflow. */
const isOverflow = (status: number, text: string): boolean =>
  status >= 400 && !LIMITED.has(status) && OVERFLOW.some((pattern) => pattern.test(text));

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function describe(error: unknown): Described {
  if (APICallError.isInstance(error)) {
    const { statusCode, responseBody = '', responseHeaders = {} } = error;
    return { status: statusCode, text: responseBody.toLowerCase(), headers: responseHeaders };
  }
  const fields = isObject(error) ? error : {};
  const status = [fields['statusCode'], fields['status'], fields['code']].map(Number).find((code) => code >= 400);
  const words = [fields['type'], fields['code'], fields['message']].filter((word) => typeof word === 'string');
  return {
    status: status ?? statusOfType(words.join(' ').toLowerCase()),
    text: words.join(' ').toLowerCase(),
    headers: {},
  };
}

/**
 * The status of an error that has only a type, in a stream or in a response with status 200.
 *
 * @param text its type, code and message in lower case
 */
export function statusOfType(text: string): number | undefined {
  if (/authentication_error|invalid_api_key/.test(text)) return 401;
  if (/permission_error/.test(text)) return 403;
  if (/not_found_error|model_not_found/.test(text)) return 404;
  if (/overloaded/.test(text)) return 529;
  if (/rate[ _-]?limit/.test(text)) return 429;
  if (/invalid_request/.test(text)) return 400;
  return undefined;
}

/** Codes of the model gateway. Other responses with status 402 are of providers whose operator must pay. */
const GATEWAY_LIMIT = 'token_limit_reached';
const GATEWAY_BUDGET = 'turn_budget_reached';
const GATEWAY_KEY_REJECTED = 'provider_credentials_rejected';

function hasCode(body: string, code: string): boolean {
  const parsed = parseJson(body);
  const error = isObject(parsed) && isObject(parsed['error']) ? parsed['error'] : {};
  return error['code'] === code || error['type'] === code;
}

function hint(status: number): string {
  if (status === 401 || status === 403) return ` (status ${status}: check its API key)`;
  if (status === 404) return ' (status 404: check its URL and the name of the model)';
  return ` (status ${status})`;
}

/**
 * Classifies the failure of an attempt. The message excludes the provider's text, which may quote the key or the prompt.
 *
 * @param optionalParameters names that a request can do without
 */
export function toFailure(error: unknown, optionalParameters: readonly string[], now = Date.now()): Failure {
  if (error instanceof ModelError) return { error, transient: false, limited: false };
  const { status, text, headers } = describe(error);
  const retryAfterMs = retryAfterOf(headers, now);
  const details = { cause: error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  const final = (failed: ModelError): Failure => ({ error: failed, transient: false, limited: false });

  if (status === 402) {
    if (hasCode(text, GATEWAY_BUDGET)) {
      const message = 'The token budget of this answer is reached.';
      return final(new ModelError('token_limit_reached', message, { ...details, budgetReached: true }));
    }
    if (hasCode(text, GATEWAY_LIMIT)) {
      return final(new ModelError('token_limit_reached', 'The token limit of this month is reached.', details));
    }
    const message = 'The model provider requires a payment (status 402: check the credit of its account).';
    return final(new ModelError('model_unavailable', message, details));
  }
  // The gateway hides the response of the provider, which a retry does not change.
  if (status === 502 && hasCode(text, GATEWAY_KEY_REJECTED)) {
    return final(new ModelError('model_rejected', `The model provider rejected the request${hint(401)}.`, details));
  }
  // The response quotes the prompt, which can have the words of any other error.
  if (status !== undefined && status < 500 && isPromptFlagged(text)) {
    return final(new ModelError('model_refused', REFUSED, details));
  }
  if (status === 413 || (status !== undefined && isOverflow(status, text))) {
    const message = 'The conversation is too long for the model.';
    return final(new ModelError('model_rejected', message, { ...details, contextOverflow: true }));
  }
  if (status !== undefined && status < 500 && FILTERED.test(text)) {
    return final(new ModelError('model_refused', REFUSED, details));
  }
  if (status !== undefined && NO_CREDIT.test(text)) {
    return final(new ModelError('model_rejected', `The model provider rejected the request${hint(status)}.`, details));
  }
  if (status !== undefined && LIMITED.has(status)) {
    const code = status === 503 ? 'model_unavailable' : 'model_rate_limited';
    const message =
      status === 503
        ? 'The model provider failed (status 503).'
        : 'The model provider is limiting requests; try again later.';
    return { error: new ModelError(code, message, details), transient: true, limited: status !== 503 };
  }
  if (status !== undefined && status >= 400 && status < 500 && !TRANSIENT.has(status)) {
    const rejected = new ModelError(
      'model_rejected',
      `The model provider rejected the request${hint(status)}.`,
      details,
    );
    const parameter = status === 400 || status === 422 ? rejectedParameter(text, optionalParameters) : undefined;
    return { ...final(rejected), ...(parameter === undefined ? {} : { rejectedParameter: parameter }) };
  }
  const message =
    status === undefined
      ? 'The connection to the model provider failed.'
      : `The model provider failed (status ${status}).`;
  return { error: new ModelError('model_unavailable', message, details), transient: true, limited: false };
}

/** The first parameter that the message names: it can also name the one to use instead. */
function rejectedParameter(text: string, optionalParameters: readonly string[]): string | undefined {
  if (!REJECTS_PARAMETER.test(text)) return undefined;
  const named = optionalParameters.filter((name) => text.includes(name));
  return named.toSorted((left, right) => text.indexOf(left) - text.indexOf(right))[0];
}
