/** A tool as a model gets to see it; `inputSchema` is JSON Schema. */
export interface ToolDefinition {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
}

/** A tool call as a model asks for it; `arguments` is the JSON text it wrote, unchecked. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

export type ModelMessage =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; toolCalls: readonly ToolCall[] }
  /** `text` is what a model reads; `data` is the result without the block around it. */
  | { role: 'tool'; callId: string; name: string; text: string; data: string; failed: boolean };

export interface ModelRequest {
  /** Model id of the catalogue, or empty for the provider's default. */
  model: string;
  system: string;
  /** Oldest first. */
  messages: readonly ModelMessage[];
  tools: readonly ToolDefinition[];
}

export type ModelEvent =
  | { type: 'text'; text: string }
  | { type: 'tool_calls'; calls: readonly ToolCall[] }
  /** What the provider reported for this call; at most once. */
  | { type: 'usage'; model: string; promptTokens: number; completionTokens: number }
  | { type: 'finish'; reason: string };

/** One language model service. A stream that ends without `finish` has failed by throwing. */
export interface ModelProvider {
  readonly name: string;
  /** @throws ModelError; when `signal` aborts, its reason. */
  stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncIterable<ModelEvent>;
}

export type ModelErrorCode = 'model_unavailable' | 'model_timeout' | 'model_rejected' | 'model_rate_limited';

/** A model call failed. The message is one sentence for people and never quotes the provider. */
export class ModelError extends Error {
  override name = 'ModelError';
  readonly code: ModelErrorCode;

  constructor(code: ModelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
