import type { LanguageModelV4FunctionTool, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';

/** Messages for a model: an optional system message, then user, assistant and tool messages with typed parts. */
export type Prompt = LanguageModelV4Prompt;

export type PromptMessage = LanguageModelV4Message;

export type AssistantMessage = Extract<LanguageModelV4Message, { role: 'assistant' }>;

/** A tool that a model may call; `inputSchema` is JSON Schema. */
export type FunctionTool = LanguageModelV4FunctionTool;

export interface StepRequest {
  /** Catalogue id, or a provider's name; empty for the provider's default. */
  model: string;
  prompt: Prompt;
  tools: readonly FunctionTool[];
  /** Tools whose schemas are not sent. Models call them by the names that they have read. */
  listed?: readonly FunctionTool[] | undefined;
  /** `none`: the model must answer, but still knows the tools from earlier calls. */
  toolChoice: 'auto' | 'none';
  /** In tokens. */
  maxOutputTokens: number;
}

/** A model's tool call. */
export interface ToolCall {
  /** Assigned by the runtime: providers repeat ids, or send none. */
  id: string;
  /** As the model wrote it; possibly an unknown tool. */
  name: string;
  /** The arguments; undefined unless they are a JSON object. */
  input: Record<string, unknown> | undefined;
}

/** Tokens of one attempt. */
export interface StepUsage {
  /** Name of the model that answered. */
  model: string;
  promptTokens: number;
  /** Including reasoning tokens. */
  completionTokens: number;
  /** The part of `promptTokens` that the provider read from its cache. */
  cachedTokens: number;
  reasoningTokens: number;
  /** Whether any count is an estimate, because the provider did not report it. */
  estimated: boolean;
}

/**
 * `length`: the output limit cut the text. `refused`: the provider or the model declined to answer. `unknown`: the provider gave
 * a reason that no list has, so the text may be a part.
 */
export type FinishReason = 'answered' | 'calls' | 'length' | 'refused' | 'unknown';

/** Result of a model call. */
export interface Step {
  finish: FinishReason;
  text: string;
  calls: readonly ToolCall[];
  /**
   * The message to append to the next step's prompt. It contains the parts that the provider wants back unchanged, such
   * as signed reasoning, and only calls to known tools with object arguments.
   */
  message: AssistantMessage;
  /** A call that the model wrote as text in a form that cannot be read. */
  unreadable?: string;
}

export type StepEvent =
  | { type: 'text'; text: string }
  /** The text of this step so far is void: another attempt follows, or the text without what was not for the user. */
  | { type: 'retracted' }
  /** Once per attempt that the provider may have counted, also if it failed or was aborted. */
  | {
      type: 'usage';
      usage: StepUsage;
      /** True if the end follows immediately. */
      isLast?: boolean;
    }
  /** An announced attempt that the provider did not count. */
  | { type: 'refused' }
  /** The last event. */
  | { type: 'end'; step: Step };

/** A request that is about to be sent. */
export interface Announcement {
  /** Name of the requested model. */
  model: string;
  /** Estimated; not below what the provider will count. */
  promptTokens: number;
  maxOutputTokens: number;
}

export interface StepOptions {
  signal: AbortSignal;
  /** The bearer token for the model gateway, read before each attempt because it is renewed. */
  token?: () => string | undefined;
  /**
   * Called before the call waits for long, in milliseconds, because the provider asks for it. Without it, a call fails
   * instead.
   */
  onLongWait?: ((ms: number) => void) | undefined;
  /** Called before the call waits for a server that is loading the model. */
  onLoading?: (() => void) | undefined;
  /** Called before each request is sent, unless the model gateway reserves its tokens. @throws if it must not be sent */
  announce?: ((announcement: Announcement) => Promise<void>) | undefined;
}

/** Makes model calls with the configured provider. */
export interface ModelPort {
  /** Provider slug. */
  readonly provider: string;
  /** Whether it announces each request, if the caller wants that. Default: false */
  readonly announces?: boolean;
  /** Loads what the first call would load. */
  prepare?(): Promise<void>;
  /** @throws ModelError; the reason of `signal` if it aborts */
  step(request: StepRequest, options: StepOptions): AsyncIterable<StepEvent>;
}

export type ModelErrorCode =
  | 'model_rate_limited'
  | 'model_refused'
  | 'model_rejected'
  | 'model_timeout'
  | 'model_unavailable'
  | 'token_limit_reached';

export interface ModelErrorDetails extends ErrorOptions {
  /** The prompt is too large for the model. */
  contextOverflow?: boolean;
  /** Tokens of prompt and output together that the server accepts, if it said so with the overflow. */
  contextLimit?: number;
  /** The server named no cause that is known; `vague`: it named none at all. */
  unexplained?: 'vague' | 'other';
  /** The turn's budget is spent, which the user can increase. */
  budgetReached?: boolean;
  /** Milliseconds that the provider asked to wait. */
  retryAfterMs?: number;
}

/** A failed model call. The message is for users and never quotes the provider. */
export class ModelError extends Error {
  override name = 'ModelError';
  readonly code: ModelErrorCode;
  readonly contextOverflow: boolean;
  readonly contextLimit: number | undefined;
  readonly unexplained: 'vague' | 'other' | undefined;
  readonly budgetReached: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(code: ModelErrorCode, message: string, details: ModelErrorDetails = {}) {
    super(message, details);
    this.code = code;
    this.contextOverflow = details.contextOverflow ?? false;
    this.contextLimit = details.contextLimit;
    this.unexplained = details.unexplained;
    this.budgetReached = details.budgetReached ?? false;
    this.retryAfterMs = details.retryAfterMs;
  }
}
