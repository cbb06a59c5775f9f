import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { type Answer, argumentsOf, count, halves, type ProtocolWriter, usageOf } from './answer.js';
import {
  type ModelServerRequest,
  requestSchema,
  type ScriptedError,
  type ScriptedFinish,
  type ScriptedUsage,
} from './model-script.js';

/** @returns the request, or what is wrong with it */
export function parseOpenAiRequest(raw: unknown): ModelServerRequest | string {
  const { data, error } = requestSchema.safeParse(raw);
  return data ?? z.prettifyError(error);
}

const errorBody = ({ message = 'scripted', type = 'scripted', code }: ScriptedError): string =>
  JSON.stringify({ error: { message, type, code: code ?? null, param: null } });

export function sendOpenAiError(response: ServerResponse, error: ScriptedError): void {
  response.writeHead(error.status, { 'content-type': 'application/json', ...error.headers });
  response.end(error.body ?? errorBody(error));
}

const FINISH: Record<ScriptedFinish, string> = {
  stop: 'stop',
  calls: 'tool_calls',
  length: 'length',
  refused: 'content_filter',
  paused: 'stop',
};

export const usageBody = ({ prompt, completion, cached = 0, reasoning = 0 }: ScriptedUsage): object => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...(cached > 0 ? { prompt_tokens_details: { cached_tokens: cached } } : {}),
  ...(reasoning > 0 ? { completion_tokens_details: { reasoning_tokens: reasoning } } : {}),
});

export function openAiWriter(answer: Answer): ProtocolWriter {
  const { request, response, id } = answer;
  const chunk = (choices: unknown[], usage: unknown = null): string =>
    `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created: 0, model: request.model, choices, usage })}\n\n`;
  const delta = (value: unknown, finishReason: string | null = null): void => {
    response.write(chunk([{ index: 0, delta: value, finish_reason: finishReason }]));
  };
  return {
    open: () => undefined,
    text: (text) => {
      count(answer, text);
      delta({ content: text });
    },
    thinking: (text) => {
      count(answer, text);
      delta({ reasoning_content: text });
    },
    redactedThinking: () => undefined,
    calls: (calls) => {
      answer.finish = 'calls';
      for (const [index, call] of calls.entries()) {
        const [first, second] = halves(argumentsOf(call));
        count(answer, `${call.name}${first}${second}`);
        const callId = call.id ?? `${id}-call-${index}`;
        delta({
          tool_calls: [{ index, id: callId, type: 'function', function: { name: call.name, arguments: first } }],
        });
        delta({ tool_calls: [{ index, function: { arguments: second } }] });
      }
    },
    ping: () => void response.write(': keep-alive\n\n'),
    error: (error) => response.end(`data: ${errorBody(error)}\n\n`),
    close: async () => {
      delta({}, FINISH[answer.finish]);
      const wanted = request.stream_options?.include_usage === true;
      const accepted =
        wanted &&
        (await new Promise<boolean>((resolve) => {
          response.write(chunk([], usageBody(usageOf(answer))), (error) =>
            resolve(error === undefined || error === null),
          );
        }));
      response.end('data: [DONE]\n\n');
      return accepted;
    },
  };
}
