import type { ServerResponse } from 'node:http';
import { z } from 'zod';

export const requestSchema = z.looseObject({
  model: z.string(),
  stream: z.literal(true),
  stream_options: z.looseObject({ include_usage: z.boolean() }).optional(),
  messages: z.array(
    z.looseObject({
      role: z.enum(['system', 'user', 'assistant', 'tool']),
      content: z.string().nullish(),
      tool_call_id: z.string().optional(),
      tool_calls: z
        .array(z.looseObject({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
        .optional(),
    }),
  ),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).optional(),
});

/** A chat completions request as the server received it. */
export type ModelServerRequest = z.output<typeof requestSchema>;

/** A tool call that a script asks for; text arguments go out as they are, so they may be no JSON. */
export interface ScriptedCall {
  id?: string;
  name: string;
  arguments: unknown;
}

/** An answer on its way, chunk by chunk. */
export interface Answer {
  request: ModelServerRequest;
  id: string;
  response: ServerResponse;
  finishReason: string;
  usage: { prompt: number; completion: number };
}

function chunk({ request, id }: Answer, choices: unknown[], usage: unknown = null): string {
  const body = { id, object: 'chat.completion.chunk', created: 0, model: request.model, choices, usage };
  return `data: ${JSON.stringify(body)}\n\n`;
}

export function sendDelta(answer: Answer, delta: unknown, finishReason: string | null = null): void {
  answer.response.write(chunk(answer, [{ index: 0, delta, finish_reason: finishReason }]));
}

export function sendToolCalls(answer: Answer, calls: readonly ScriptedCall[]): void {
  answer.finishReason = 'tool_calls';
  for (const [index, call] of calls.entries()) {
    const text = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
    const half = Math.ceil(text.length / 2);
    const id = call.id ?? `${answer.id}-call-${index}`;
    const head = { index, id, type: 'function', function: { name: call.name, arguments: text.slice(0, half) } };
    sendDelta(answer, { tool_calls: [head] });
    sendDelta(answer, { tool_calls: [{ index, function: { arguments: text.slice(half) } }] });
  }
}

/** The final chunk. @returns whether the connection took it. */
export function sendUsage(answer: Answer): Promise<boolean> {
  const { prompt, completion } = answer.usage;
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return new Promise((resolve) => {
    answer.response.write(chunk(answer, [], usage), (error) => resolve(error === undefined || error === null));
  });
}

export interface ScriptedError {
  status: number;
  message?: string;
  headers?: Record<string, string>;
}

export function sendError(
  response: ServerResponse,
  { status, message = 'scripted', headers = {} }: ScriptedError,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message, type: 'scripted', code: null, param: null } }));
}

/** What the newest tool message says. */
export function lastToolText({ messages }: ModelServerRequest): string | undefined {
  return messages.findLast(({ role }) => role === 'tool')?.content ?? undefined;
}
