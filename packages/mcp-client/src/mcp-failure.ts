import { SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client';
import { isNotConnected } from '@uswarm/service-kit';

/** The response to a request before it failed. */
export interface Received {
  /** The last HTTP status. */
  status?: number | undefined;
  /** Milliseconds that the server asked to wait. */
  retryAfterMs?: number | undefined;
  /** The token needs these scopes for the request, which was not executed. */
  neededScopes?: readonly string[] | undefined;
}

export const CLOSED = 'closed the connection';
export const UNREACHABLE = 'could not be reached';
export const TOO_MANY_TOOLS = 'lists too many tools';

interface McpFailureDetails extends ErrorOptions {
  /** The server may have executed the call. */
  outcomeUnknown?: boolean;
  /** The next request needs a new connection. */
  disconnected?: boolean;
}

/** A failed request to a tool server. The message completes "The tool server …". */
export class McpFailure extends Error {
  override name = 'McpFailure';
  readonly outcomeUnknown: boolean;
  readonly disconnected: boolean;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly neededScopes: readonly string[] | undefined;

  constructor(message: string, { status, retryAfterMs, neededScopes }: Received, details: McpFailureDetails = {}) {
    super(message, details);
    this.outcomeUnknown = details.outcomeUnknown ?? false;
    this.disconnected = details.disconnected ?? false;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.neededScopes = neededScopes;
  }
}

// Some servers answer 400 instead of the specified 404. An SDK server without a session sends the last message.
const UNKNOWN_SESSION = new RegExp(
  [
    String.raw`\b(?:no valid|invalid|unknown|expired)\b[^{}]{0,80}\bsession(?:[ _-]?id)?\b`,
    String.raw`\bsession(?:[ _-]?id)?\b[^{}]{0,80}\b(?:not found|does not exist|invalid|unknown|expired|terminated)\b`,
    String.raw`\bserver not initialized\b`,
  ].join('|'),
  'i',
);

function isUnknownSession({ status, data }: SdkHttpError): boolean {
  return status === 400 && typeof data['text'] === 'string' && UNKNOWN_SESSION.test(data['text'].slice(0, 1_000));
}

function ofStatus(status: number, received: Received, cause: unknown): McpFailure {
  const all = { ...received, status };
  if (status === 401) return new McpFailure('rejected the token', all, { cause });
  if (status === 429) return new McpFailure('is limiting requests; try again later', all, { cause });
  // A session-keeping server has ended the session: the specification requires a new one.
  if (status === 404 || (cause instanceof SdkHttpError && isUnknownSession(cause))) {
    return new McpFailure(`returned status ${status}`, all, { cause, disconnected: true });
  }
  const outcomeUnknown = status >= 500 && status !== 503;
  return new McpFailure(`returned status ${status}`, all, { cause, outcomeUnknown });
}

/** Describes the error if a request may have reached the server. */
export function toFailure(error: unknown, received: Received): McpFailure {
  if (error instanceof McpFailure) return error;
  const cause = error;
  if (received.neededScopes !== undefined)
    return new McpFailure('rejected the call, because the account lacks a permission', received, { cause });
  if (error instanceof UnauthorizedError) return ofStatus(401, received, cause);
  if (error instanceof SdkHttpError && error.status !== undefined) return ofStatus(error.status, received, cause);
  if (error instanceof SdkError) {
    switch (error.code) {
      case SdkErrorCode.RequestTimeout:
        return new McpFailure('did not respond in time', received, { cause, outcomeUnknown: true });
      case SdkErrorCode.UnsupportedResultType:
      case SdkErrorCode.InputRequiredRoundsExceeded:
      case SdkErrorCode.CapabilityNotSupported:
        return new McpFailure('asks for more input from the user, which is not supported', received, { cause });
      case SdkErrorCode.ListPaginationExceeded:
        return new McpFailure(TOO_MANY_TOOLS, received, { cause });
      case SdkErrorCode.NotConnected:
      case SdkErrorCode.SendFailed:
        return new McpFailure(UNREACHABLE, received, { cause, disconnected: true });
      case SdkErrorCode.EraNegotiationFailed:
        if (received.status === 429) return ofStatus(429, received, cause);
        return new McpFailure(UNREACHABLE, received, { cause, disconnected: true });
      case SdkErrorCode.InvalidResult:
      case SdkErrorCode.ClientHttpUnexpectedContent:
        return new McpFailure('returned an invalid response', received, { cause, outcomeUnknown: true });
      default:
        return new McpFailure(CLOSED, received, { cause, outcomeUnknown: true });
    }
  }
  if (isNotConnected(error)) return new McpFailure(UNREACHABLE, received, { cause, disconnected: true });
  return new McpFailure(CLOSED, received, { cause, outcomeUnknown: true });
}
