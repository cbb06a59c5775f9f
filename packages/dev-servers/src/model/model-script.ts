import { z } from 'zod';

export type ModelProtocol = 'openai' | 'anthropic';

const contentPart = z.looseObject({ type: z.string(), text: z.string().optional() });

export const messageSchema = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(contentPart)]).nullish(),
  tool_call_id: z.string().optional(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .optional(),
});

export const requestSchema = z.looseObject({
  model: z.string(),
  stream: z.literal(true),
  stream_options: z.looseObject({ include_usage: z.boolean() }).optional(),
  max_tokens: z.int().positive().optional(),
  max_completion_tokens: z.int().positive().optional(),
  messages: z.array(messageSchema),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).optional(),
});

export type ModelServerMessage = z.output<typeof messageSchema>;

/** A received request in OpenAI form; Messages requests are translated. */
export type ModelServerRequest = z.output<typeof requestSchema>;

/** As received. */
export interface ReceivedRequest {
  protocol: ModelProtocol;
  body: ModelServerRequest;
  /** The body as it was sent. */
  raw: Record<string, unknown>;
  /** The credentials as a bearer token; the Messages protocol sends them in `x-api-key`. */
  authorization: string | undefined;
}

/** A scripted tool call. String arguments are sent unchanged, so they can be invalid JSON. */
export interface ScriptedCall {
  id?: string;
  name: string;
  arguments: unknown;
}

export interface ScriptedError {
  status: number;
  message?: string;
  headers?: Record<string, string>;
  /** The error's `type`. */
  type?: string;
  /** The error's `code`; only the OpenAI protocol has one. */
  code?: string;
  /** Replaces the protocol's JSON body. */
  body?: string;
}

/** Tokens; `prompt` includes the cached ones, `completion` the reasoning. */
export interface ScriptedUsage {
  prompt: number;
  completion: number;
  cached?: number;
  cacheWrite?: number;
  reasoning?: number;
}

/** Why an answer ended: `stop` and `calls` are chosen automatically. */
export type ScriptedFinish = 'stop' | 'calls' | 'length' | 'refused' | 'paused';

/** A response step. */
export type ModelStep =
  /** Streams the text as one delta. */
  | { text: string }
  /** Streams a text made from the last `tool` message; responds with 400 if there is none. */
  | { fromTool: (toolText: string) => string }
  /** Streams reasoning; only the Messages protocol has signatures. */
  | { thinking: string; signature?: string }
  /** Sends a block of encrypted reasoning; nothing in the OpenAI protocol. */
  | { redactedThinking: string }
  /** Requests tool calls; the arguments of each are streamed in two parts. */
  | { toolCalls: readonly ScriptedCall[] }
  /** Sets the reported usage; without it, the counted tokens are reported. */
  | { usage: ScriptedUsage }
  /** Sets the stream's content type; undefined sends none. */
  | { contentType: string | undefined }
  /** Sets the finish reason. */
  | { finish: ScriptedFinish }
  /** Sends a sign of life: a comment, or a ping event. */
  | { ping: true }
  /** Waits. */
  | { delayMs: number }
  /** Waits until `release(hold)`. */
  | { hold: string }
  /** Responds with an error instead of a stream; must be the first step. */
  | { error: ScriptedError }
  /** Sends an error in the stream, which then ends. */
  | { streamError: ScriptedError }
  /** Sends the bytes unchanged, as one packet, and counts the text. From the first such step on, the script writes the whole stream. */
  | { raw: string | Uint8Array; counts?: string }
  /** Ends the response without the protocol's closing chunks. */
  | { end: true }
  /** Keeps the connection open and sends nothing. As the first step, it also withholds the response head. */
  | { hang: true }
  /** Closes the connection. As the first step, there is no response head. */
  | { disconnect: true };

/** Returns the response steps; `index` is the number of earlier requests. */
export type ModelScript = (
  request: ModelServerRequest,
  index: number,
  received: ReceivedRequest,
) => readonly ModelStep[];

/** The text as one delta per word. */
export const words = (text: string): ModelStep[] => (text.match(/\S+\s*/g) ?? []).map((word) => ({ text: word }));

/** A message's text. */
export const textOf = (content?: ModelServerMessage['content']): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('');

/** The last tool message's text. */
export function lastToolText({ messages }: ModelServerRequest): string | undefined {
  const message = messages.findLast(({ role }) => role === 'tool');
  return message === undefined ? undefined : textOf(message.content);
}
