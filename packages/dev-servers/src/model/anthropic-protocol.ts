import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { type Answer, argumentsOf, count, halves, type ProtocolWriter, usageOf } from './answer.js';
import type {
  ModelServerMessage,
  ModelServerRequest,
  ScriptedError,
  ScriptedFinish,
  ScriptedUsage,
} from './model-script.js';

const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
  tool_use_id: z.string().optional(),
  content: z.unknown().optional(),
});

const anthropicSchema = z.looseObject({
  model: z.string(),
  stream: z.literal(true),
  max_tokens: z.int().positive(),
  system: z.union([z.string(), z.array(block)]).optional(),
  messages: z.array(
    z.looseObject({ role: z.enum(['user', 'assistant']), content: z.union([z.string(), z.array(block)]) }),
  ),
  tools: z
    .array(z.looseObject({ name: z.string(), input_schema: z.looseObject({ type: z.literal('object') }) }))
    .optional(),
});

type Block = z.output<typeof block>;

const blocksOf = (content: string | Block[]): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

const joined = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : blocksOf((content ?? []) as Block[])
        .map(({ text = '' }) => text)
        .join('');

function translateAssistant(blocks: readonly Block[]): ModelServerMessage[] {
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  const text = blocks.flatMap((each) => (each.type === 'text' ? [each.text ?? ''] : [])).join('');
  const toolCalls = calls.map(({ id = '', name = '', input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input ?? null) },
  }));
  return [{ role: 'assistant', content: text, ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}) }];
}

function translateUser(blocks: readonly Block[]): ModelServerMessage[] {
  const results = blocks.flatMap(({ type, tool_use_id = '', content }) =>
    type === 'tool_result' ? [{ role: 'tool' as const, tool_call_id: tool_use_id, content: joined(content) }] : [],
  );
  const rest = blocks.filter(({ type }) => type !== 'tool_result').map(({ type, text = '' }) => ({ type, text }));
  return rest.length > 0 ? [...results, { role: 'user', content: rest }] : results;
}

/** Roles must alternate, results come first in their message, and texts are not empty. @returns what is wrong */
function brokenMessages({ messages, system = '' }: z.output<typeof anthropicSchema>): string | undefined {
  const misplaced = messages.findIndex(({ role }, index) => role !== (index % 2 === 0 ? 'user' : 'assistant'));
  if (misplaced >= 0) return `messages.${misplaced}: roles must alternate between "user" and "assistant"`;
  if (messages.length % 2 === 0) return 'messages: the last message must have the role "user"';
  const all = messages.map(({ content }) => blocksOf(content));
  const empty = [...all, typeof system === 'string' ? [] : system].flat();
  if (empty.some(({ type, text }) => type === 'text' && (text ?? '').trim() === '')) {
    return 'messages: text content blocks must contain non-whitespace text';
  }
  const late = all.some((blocks) => {
    const first = blocks.findIndex(({ type }) => type !== 'tool_result');
    return first >= 0 && blocks.slice(first).some(({ type }) => type === 'tool_result');
  });
  return late ? 'messages: tool_result blocks must come first in their message' : undefined;
}

/** Translates a Messages request. @returns the request, or what is wrong with it */
export function parseAnthropicRequest(raw: unknown, strict: boolean): ModelServerRequest | string {
  const { data, error } = anthropicSchema.safeParse(raw);
  if (data === undefined) return z.prettifyError(error);
  const broken = strict ? brokenMessages(data) : undefined;
  if (broken !== undefined) return broken;
  const { model, stream, max_tokens, system, messages, tools } = data;
  return {
    model,
    stream,
    max_tokens,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system' as const, content: joined(system) }]),
      ...messages.flatMap(({ role, content }) =>
        role === 'user' ? translateUser(blocksOf(content)) : translateAssistant(blocksOf(content)),
      ),
    ],
    ...(tools === undefined
      ? {}
      : {
          tools: tools.map(({ name, description, input_schema }) => ({
            type: 'function',
            function: { name, description, parameters: input_schema },
          })),
        }),
  };
}

const TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

const errorBody = ({ status, type, message = 'scripted' }: ScriptedError): string =>
  JSON.stringify({ type: 'error', error: { type: type ?? TYPES[status] ?? 'invalid_request_error', message } });

export function sendAnthropicError(response: ServerResponse, error: ScriptedError): void {
  response.writeHead(error.status, { 'content-type': 'application/json', ...error.headers });
  response.end(error.body ?? errorBody(error));
}

const FINISH: Record<ScriptedFinish, string> = {
  stop: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
  refused: 'refusal',
  paused: 'pause_turn',
};

const promptUsage = ({ prompt, cached = 0, cacheWrite = 0 }: ScriptedUsage): object => ({
  input_tokens: prompt - cached - cacheWrite,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: cacheWrite,
});

export const anthropicEvent = (type: string, data: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

export function anthropicWriter(answer: Answer): ProtocolWriter {
  const { request, response, id } = answer;
  let index = -1;
  const send = (type: string, data: object = {}): void => void response.write(anthropicEvent(type, data));
  const whole = (contentBlock: object, deltas: readonly object[]): void => {
    index += 1;
    send('content_block_start', { index, content_block: contentBlock });
    for (const delta of deltas) send('content_block_delta', { index, delta });
    send('content_block_stop', { index });
  };
  // Neighbouring texts are one block.
  let openText = false;
  const closeText = (): void => {
    if (openText) send('content_block_stop', { index });
    openText = false;
  };
  return {
    open: () => {
      const usage = { ...promptUsage(usageOf(answer)), output_tokens: 1 };
      const head = { id, type: 'message', role: 'assistant', model: request.model, content: [] };
      send('message_start', { message: { ...head, stop_reason: null, stop_sequence: null, usage } });
    },
    text: (text) => {
      count(answer, text);
      if (!openText) {
        index += 1;
        send('content_block_start', { index, content_block: { type: 'text', text: '' } });
        openText = true;
      }
      send('content_block_delta', { index, delta: { type: 'text_delta', text } });
    },
    thinking: (thinking, signature) => {
      count(answer, thinking);
      closeText();
      const signed = signature === undefined ? [] : [{ type: 'signature_delta', signature }];
      whole({ type: 'thinking', thinking: '', signature: '' }, [{ type: 'thinking_delta', thinking }, ...signed]);
    },
    redactedThinking: (data) => {
      closeText();
      whole({ type: 'redacted_thinking', data }, []);
    },
    calls: (calls) => {
      closeText();
      answer.finish = 'calls';
      for (const [position, call] of calls.entries()) {
        const parts = halves(argumentsOf(call));
        count(answer, `${call.name}${parts.join('')}`);
        whole(
          { type: 'tool_use', id: call.id ?? `${id}-call-${position}`, name: call.name, input: {} },
          parts.map((part) => ({ type: 'input_json_delta', partial_json: part })),
        );
      }
    },
    ping: () => send('ping'),
    error: (error) => {
      response.end(`event: error\ndata: ${errorBody(error)}\n\n`);
    },
    close: async () => {
      closeText();
      const { completion } = usageOf(answer);
      const delta = { stop_reason: FINISH[answer.finish], stop_sequence: null };
      const accepted = await new Promise<boolean>((resolve) => {
        response.write(anthropicEvent('message_delta', { delta, usage: { output_tokens: completion } }), (error) =>
          resolve(error === undefined || error === null),
        );
      });
      response.end(anthropicEvent('message_stop'));
      return accepted;
    },
  };
}
