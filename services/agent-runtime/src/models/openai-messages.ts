import type OpenAI from 'openai';
import type { ModelMessage, ModelRequest, ToolCall } from './model.js';

type Completions = OpenAI.ChatCompletionCreateParamsStreaming;
type CallDelta = OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall;

function toMessage(message: ModelMessage): OpenAI.ChatCompletionMessageParam {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: message.text };
    case 'tool':
      return { role: 'tool', tool_call_id: message.callId, content: message.text };
    case 'assistant':
      if (message.toolCalls.length === 0) return { role: 'assistant', content: message.text };
      return {
        role: 'assistant',
        content: message.text === '' ? null : message.text,
        tool_calls: message.toolCalls.map(({ id, name, arguments: text }) => ({
          id,
          type: 'function',
          function: { name, arguments: text },
        })),
      };
  }
}

/** The body of a streaming chat completion with usage. */
export function toCompletionParams(model: string, { system, messages, tools }: ModelRequest): Completions {
  const functions = tools.map(({ name, description, inputSchema }) => ({
    type: 'function' as const,
    function: { name, description, parameters: inputSchema },
  }));
  return {
    model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'system', content: system }, ...messages.map(toMessage)],
    // Some servers reject an empty list.
    ...(functions.length === 0 ? {} : { tools: functions }),
  };
}

/** Assembles tool calls from streamed chunks. */
export function createCallAssembler(newId: () => string): {
  add(pieces: readonly CallDelta[]): void;
  calls(): ToolCall[];
} {
  const byIndex = new Map<number, ToolCall>();
  return {
    add(pieces) {
      for (const piece of pieces) {
        const call = byIndex.get(piece.index) ?? { id: '', name: '', arguments: '' };
        call.id ||= piece.id ?? '';
        call.name += piece.function?.name ?? '';
        call.arguments += piece.function?.arguments ?? '';
        byIndex.set(piece.index, call);
      }
    },
    calls: () =>
      [...byIndex.entries()]
        .toSorted(([left], [right]) => left - right)
        // Some servers send no ids.
        .map(([, call]) => ({ ...call, id: call.id || newId() })),
  };
}
