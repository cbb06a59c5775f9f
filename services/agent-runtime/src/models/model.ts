/** A tool for a model; `inputSchema` is JSON Schema. */
export interface ToolDefinition {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
}

/** A tool call of a model; `arguments` is unchecked JSON text. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

export type ModelMessage =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; toolCalls: readonly ToolCall[] }
  /** `text` is for the model; `data` is the result without the untrusted block. */
  | { role: 'tool'; callId: string; name: string; text: string; data: string; failed: boolean };

export interface ModelRequest {
  /** Model id of the catalogue; empty for the default of the provider. */
  model: string;
  system: string;
  /** Oldest first. */
  messages: readonly ModelMessage[];
  tools: readonly ToolDefinition[];
}

export type ModelEvent =
  | { type: 'text'; text: string }
  | { type: 'tool_calls'; calls: readonly ToolCall[] }
  /** Reported by the provider; at most once per call. */
  | { type: 'usage'; model: string; promptTokens: number; completionTokens: number }
  | { type: 'finish'; reason: string };

/** A language model service. A stream ends with `finish` or throws. */
export interface ModelProvider {
  readonly name: string;
  /** @throws ModelError; the reason of `signal` if it aborts */
  stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncIterable<ModelEvent>;
}

export type ModelErrorCode = 'model_unavailable' | 'model_timeout' | 'model_rejected' | 'model_rate_limited';

/** A failed model call. The message is for users and never quotes the provider. */
export class ModelError extends Error {
  override name = 'ModelError';
  readonly code: ModelErrorCode;

  constructor(code: ModelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
