import { anthropicEvent } from '../anthropic-protocol.js';
import type { ModelServerMessage, ModelStep, ReceivedRequest, ScriptedCall } from '../model-script.js';
import { usageBody } from '../openai-protocol.js';
import type { Dialect } from './dialect.js';

// Raw response parts.

const HEAD = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'scripted' };

/** A chunk with these choices. */
export const chunkOf = (...choices: object[]): string => `data: ${JSON.stringify({ ...HEAD, choices })}\n\n`;

/** A chunk with one choice; `more` adds fields to the choice. */
export const choice = (delta: unknown, finishReason: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ ...HEAD, choices: [{ index: 0, delta, finish_reason: finishReason, ...more }] })}\n\n`;

export const toolCalls = (...calls: object[]): string => choice({ tool_calls: calls });

/** A tool call in a chunk. */
export const call = (fields: object, name: string | undefined, input: unknown): object => ({
  ...fields,
  type: 'function',
  function: { ...(name === undefined ? {} : { name }), arguments: input },
});

/** A chunk with this usage only. */
export const usageOf = (usage: object): string => `data: ${JSON.stringify({ ...HEAD, choices: [], usage })}\n\n`;

export const usageChunk = (prompt: number, completion: number): string => usageOf(usageBody({ prompt, completion }));

export const STOP = choice({}, 'stop');
export const DONE = 'data: [DONE]\n\n';

/** The usual end of an answer with tool calls. */
export const FINISHED = [choice({}, 'tool_calls'), usageChunk(20, 5), DONE];

/** All packets in a complete response. */
export const raw = (...parts: (string | Uint8Array)[]): ModelStep[] => [
  ...parts.map((part) => ({ raw: part })),
  { end: true },
];

/** A script whose first response has these packets. */
export const rawOnce =
  (...parts: (string | Uint8Array)[]): Dialect['script'] =>
  (index) =>
    index > 0 ? undefined : raw(...parts);

/** A text, its end and usage, as a server without deviations sends them. */
export const ANSWER = [choice({ role: 'assistant', content: 'Hello.' }), STOP, usageChunk(20, 5), DONE];

/** The same in one text. */
export const whole = ANSWER.join('');

/** Usage in a protocol-neutral script. */
export const USAGE: ModelStep = { usage: { prompt: 20, completion: 5 } };

/** A text from the protocol-neutral script. */
export const answer = (text: string): ModelStep[] => [{ text }, USAGE];

/** A protocol-neutral script whose first response has these calls. */
export const calling =
  (...calls: ScriptedCall[]): Dialect['script'] =>
  (index) =>
    index > 0 ? undefined : [{ toolCalls: calls }, USAGE];

/** Splits bytes into packets of this size, also inside characters. */
export function packets(text: string, size: number): Uint8Array[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

export const refuse = (status: number, message: string, fields: object = {}): ModelStep[] => [
  { error: { status, message, ...fields } },
];

const blocksOf = (body: Record<string, unknown>): unknown[] =>
  (body['messages'] as { content?: unknown }[]).flatMap(({ content }) =>
    Array.isArray(content) ? (content as unknown[]) : [],
  );

export const hasSystem = (body: Record<string, unknown>): boolean =>
  'system' in body || (body['messages'] as { role: string }[]).some(({ role }) => role === 'system');

export const hasImage = (body: Record<string, unknown>): boolean =>
  blocksOf(body).some((block) => ['image', 'image_url'].includes((block as { type: string }).type));

/** Whether a request has tool results, and the last assistant message as the server received it. */
export function arrived({ raw: body }: ReceivedRequest): { results: boolean; assistant: Record<string, unknown> } {
  const messages = body['messages'] as (ModelServerMessage & Record<string, unknown>)[];
  const last = messages.at(-1);
  const blocks = Array.isArray(last?.content) ? last.content : [];
  return {
    results: last?.role === 'tool' || blocks.some(({ type }) => type === 'tool_result'),
    assistant: messages.findLast(({ role }) => role === 'assistant') ?? {},
  };
}

export const event = anthropicEvent;

/** First event in the Messages protocol. */
export const STREAM_START = event('message_start', {
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 20, output_tokens: 1 },
  },
});

/** Last events in the Messages protocol. */
export const STREAM_END = (stopReason: string, outputTokens = 5): string =>
  event('message_delta', {
    delta: { stop_reason: stopReason, stop_sequence: null },
    usage: { output_tokens: outputTokens },
  }) + event('message_stop');

/** A block's events with these deltas. */
const block = (index: number, start: object, deltas: readonly object[]): string =>
  [
    event('content_block_start', { index, content_block: start }),
    ...deltas.map((delta) => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  ].join('');

export const textBlock = (index: number, text: string): string =>
  block(index, { type: 'text', text: '' }, [{ type: 'text_delta', text }]);

/** A whole Messages response with these blocks. */
export const anthropicStream = (
  stopReason: string,
  ...blocks: { start: object; deltas?: readonly object[] }[]
): ModelStep[] =>
  raw(
    STREAM_START,
    ...blocks.map(({ start, deltas = [] }, index) => block(index, start, deltas)),
    STREAM_END(stopReason),
  );

const textDelta = (text: string): object => ({ type: 'text_delta', text });

/** A response whose text comes in these pieces, with this finish reason, in the request's protocol. */
const texting = (pieces: readonly string[], reason: string, { protocol }: ReceivedRequest): ModelStep[] =>
  protocol === 'openai'
    ? raw(...pieces.map((content) => choice({ content })), choice({}, reason), usageChunk(20, 5), DONE)
    : anthropicStream(reason, { start: { type: 'text', text: '' }, deltas: pieces.map(textDelta) });

const COMPLETE = { openai: 'stop', anthropic: 'end_turn' };

/** The same in the first response, with the usual finish reason. */
export const textingOnce =
  (...pieces: string[]): Dialect['script'] =>
  (index, received) =>
    index > 0 ? undefined : texting(pieces, COMPLETE[received.protocol], received);

/** The same for all responses, with this finish reason. */
export const ending =
  (reason: string, ...pieces: string[]): Dialect['script'] =>
  (_index, received) =>
    texting(pieces, reason, received);

/** The same for the first response. Later ones are complete. */
export const endingOnce =
  (reason: string, ...pieces: string[]): Dialect['script'] =>
  (index, received) =>
    texting(index > 0 ? ['Hello.'] : pieces, index > 0 ? COMPLETE[received.protocol] : reason, received);

/** A whole response instead of a stream, in the request's protocol. */
export const wholeText = (text: string, reason: string, { protocol }: ReceivedRequest): ModelStep[] => {
  const body =
    protocol === 'openai'
      ? {
          object: 'chat.completion',
          choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: reason }],
          usage: usageBody({ prompt: 20, completion: 5 }),
        }
      : {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          content: [{ type: 'text', text }],
          stop_reason: reason,
          usage: { input_tokens: 20, output_tokens: 5 },
        };
  return refuse(200, '', { body: JSON.stringify(body) });
};

/** Responses with a text and a finish reason, but without the end that follows it. */
export const FINISHED_WITHOUT_END = {
  openai: choice({ content: 'Hello.' }) + STOP,
  anthropic:
    STREAM_START +
    textBlock(0, 'Hello.') +
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null } }),
};
