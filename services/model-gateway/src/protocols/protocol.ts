import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from '../gateway-error.js';

export const PROVIDERS = ['openai', 'anthropic'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** A JSON object of a provider. Fields that the gateway does not know pass unchanged. */
export type Body = Readonly<Record<string, unknown>>;

export interface CallRequest {
  /** A model id of the catalogue or a name of the provider. */
  model: string;
  /** Maximum tokens of the output; undefined if the request has no limit. */
  maxOutputTokens: number | undefined;
}

export interface ForwardedCall {
  /** The name of the model at the provider. */
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

/** What the events of a response have shown so far. */
export interface Metered {
  usage: Partial<ReportedUsage>;
  /** Whether `usage` is that of the whole response. */
  complete: boolean;
  /** Whether the response states why it ended. Without it, it is cut, or ended with an error. */
  ended: boolean;
  /** Estimated tokens of the output. */
  outputTokens: number;
}

/** The protocol of a provider. */
export interface Protocol {
  provider: ProviderName;
  /** The route at the gateway. */
  route: string;
  /** The path after the base URL of the provider. */
  path: string;
  defaultBaseUrl: string;
  /** The URL before `path`, from the setting of the operator. */
  baseUrlOf(setting: string): string;
  /** Names of request headers that are passed to the provider. */
  requestHeaders: readonly string[];
  /** The bearer token of a request. */
  tokenOf(headers: IncomingHttpHeaders): string | undefined;
  /** The headers that authenticate the gateway to the provider. */
  credentials(apiKey: string): Record<string, string>;
  /** Checks what matters for cost and safety. @throws GatewayError `invalid_request` */
  readRequest(body: unknown): CallRequest;
  /** @param askForUsage whether to request usage if the client did not */
  prepare(body: Body, call: ForwardedCall, options: { baseUrl: string; askForUsage: boolean }): PreparedBody;
  /** Adds one event of a streamed response, or a whole response. Ignores what it does not know. */
  meter(metered: Metered, event: unknown): void;
  errorBody(error: GatewayError): Body;
}
