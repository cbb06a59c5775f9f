import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from '../gateway-error.js';

/** A provider's JSON object. Fields that the gateway does not know pass unchanged. */
export type Body = Readonly<Record<string, unknown>>;

export interface CallRequest {
  /** A catalogue id or a provider's name. */
  model: string;
  /** Maximum output tokens; undefined if the request has no limit. */
  maxOutputTokens: number | undefined;
}

export interface ForwardedCall {
  /** The provider's model name. */
  model: string;
  maxOutputTokens: number;
}

export interface PreparedBody {
  body: Body;
  /** Whether the gateway asked for usage, which some servers refuse. */
  asksForUsage: boolean;
}

/** Tokens as the provider reported them. */
export interface ReportedUsage {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  reasoningTokens: number;
}

/** The response so far. */
export interface Metered {
  usage: Partial<ReportedUsage>;
  /** True if `usage` covers the whole response. */
  complete: boolean;
  /** True if the response states why it ended. Without it, it is cut, or ended with an error. */
  ended: boolean;
  /** Estimated output tokens. */
  outputTokens: number;
}

/** A protocol of model servers. */
export interface Protocol {
  /** The path after the provider's base URL. */
  path: string;
  /** The URL before `path`, from the operator's setting. */
  baseUrlOf(setting: string): string;
  /** Request headers that are passed to the provider. */
  requestHeaders: readonly string[];
  /** The request's bearer token. */
  tokenOf(headers: IncomingHttpHeaders): string | undefined;
  /** The headers that authenticate the gateway to the provider. */
  credentials(apiKey: string): Record<string, string>;
  /** Checks what matters for cost and safety. @throws GatewayError `invalid_request` */
  readRequest(body: unknown): CallRequest;
  /** @param askForUsage whether to request usage if the client did not */
  prepare(body: Body, call: ForwardedCall, options: { baseUrl: string; askForUsage: boolean }): PreparedBody;
  /** Adds one event from a streamed response, or a whole response. Ignores unknown fields. */
  meter(metered: Metered, event: unknown): void;
  errorBody(error: GatewayError): Body;
}
