import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import {
  type Answer,
  lastToolText,
  type ModelServerRequest,
  requestSchema,
  type ScriptedCall,
  type ScriptedError,
  sendDelta,
  sendError,
  sendToolCalls,
  sendUsage,
} from './openai-protocol.js';

export type { ModelServerRequest, ScriptedCall, ScriptedError } from './openai-protocol.js';

/** One thing that the server does while it answers. */
export type ModelStep =
  /** Streams the text in one delta. */
  | { text: string }
  /** Streams what `from` makes of the last `tool` message; without one, the request is answered with 400. */
  | { fromTool: (toolText: string) => string }
  /** Asks for tool calls; the arguments are streamed in two pieces each. */
  | { toolCalls: readonly ScriptedCall[] }
  /** Sets what the final chunk reports. */
  | { usage: { prompt: number; completion: number } }
  /** Waits, in milliseconds. */
  | { delayMs: number }
  /** Waits until `release(hold)`. */
  | { hold: string }
  /** Answers with an error instead of a stream; must be the first step. */
  | { error: ScriptedError }
  /** Keeps the connection open and says nothing more. */
  | { hang: true }
  /** Breaks the connection off. */
  | { cut: true };

/** What the server does with a request; `index` counts requests from 0. */
export type ModelScript = (request: ModelServerRequest, index: number) => readonly ModelStep[];

export interface ModelServer {
  /** For OPENAI_BASE_URL. */
  baseUrl: string;
  requests: readonly { body: ModelServerRequest; authorization: string | undefined }[];
  /** Sums over the answers whose final usage chunk was handed to the connection. */
  readonly usageReported: { answers: number; promptTokens: number; completionTokens: number };
  /** Lets everybody go on who waits, or will wait, at this hold point. */
  release(hold: string): void;
  /** Resolves when a request waits at the hold point, or did. */
  reached(hold: string): Promise<void>;
  close(): Promise<void>;
}

/** The text in deltas of one word each. */
export const words = (text: string): ModelStep[] => (text.match(/\S+\s*/g) ?? []).map((word) => ({ text: word }));

/** Promises that one side waits for and the other resolves, by name, in either order. */
function createGates(): { open(name: string): void; wait(name: string): Promise<void> } {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gate = (name: string): PromiseWithResolvers<void> => {
    const known = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, known);
    return known;
  };
  return { open: (name) => gate(name).resolve(), wait: (name) => gate(name).promise };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString('utf8'));
}

/** The request, or undefined after it was refused. */
async function accept(request: IncomingMessage, response: ServerResponse): Promise<ModelServerRequest | undefined> {
  if (request.method !== 'POST' || request.url?.endsWith('/chat/completions') !== true) {
    sendError(response, { status: 404, message: 'no such route' });
    return undefined;
  }
  const { data, error } = requestSchema.safeParse(await readJson(request));
  if (error !== undefined) sendError(response, { status: 400, message: z.prettifyError(error) });
  return data;
}

/** What keeps the script from being streamed, if anything. */
function refusal(request: ModelServerRequest, steps: readonly ModelStep[]): ScriptedError | undefined {
  const scripted = steps.find((step) => 'error' in step);
  if (scripted !== undefined) return scripted.error;
  const needsTool = steps.some((step) => 'fromTool' in step);
  if (!needsTool || lastToolText(request) !== undefined) return undefined;
  return { status: 400, message: 'the script answers a tool message, and there is none' };
}

interface Gates {
  released: ReturnType<typeof createGates>;
  reached: ReturnType<typeof createGates>;
}

/** Does one step. Whether the answer goes on is for `gone` to say. */
async function play(step: ModelStep, answer: Answer, { released, reached }: Gates, gone: AbortSignal): Promise<void> {
  if ('text' in step) sendDelta(answer, { content: step.text });
  else if ('fromTool' in step) sendDelta(answer, { content: step.fromTool(lastToolText(answer.request) ?? '') });
  else if ('toolCalls' in step) sendToolCalls(answer, step.toolCalls);
  else if ('usage' in step) answer.usage = step.usage;
  else if ('delayMs' in step) await sleep(step.delayMs, undefined, { signal: gone });
  else if ('hold' in step) {
    reached.open(step.hold);
    await Promise.race([released.wait(step.hold), once(gone, 'abort')]);
  } else if ('hang' in step) await once(gone, 'abort');
  else if ('cut' in step) await cut(answer.response);
}

/** After what was written before has left, so that the client sees exactly that. */
async function cut(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => response.write('\n', () => resolve()));
  response.destroy();
  await once(response, 'close');
}

/**
 * A model behind the OpenAI streaming protocol that does what a script says: the place of a paid
 * service in tests, over a real connection.
 */
export async function startModelServer({ script }: { script: ModelScript }): Promise<ModelServer> {
  const requests: { body: ModelServerRequest; authorization: string | undefined }[] = [];
  const usageReported = { answers: 0, promptTokens: 0, completionTokens: 0 };
  const gates = { released: createGates(), reached: createGates() };
  const closing = new AbortController();

  async function stream(answer: Answer, steps: readonly ModelStep[], gone: AbortSignal): Promise<void> {
    const { request, response } = answer;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.flushHeaders();
    for (const step of steps) {
      await play(step, answer, gates, gone);
      if (gone.aborted) return;
    }
    sendDelta(answer, {}, answer.finishReason);
    if (request.stream_options?.include_usage === true && (await sendUsage(answer))) {
      usageReported.answers += 1;
      usageReported.promptTokens += answer.usage.prompt;
      usageReported.completionTokens += answer.usage.completion;
    }
    response.end('data: [DONE]\n\n');
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await accept(request, response);
    if (body === undefined) return;
    const index = requests.push({ body, authorization: request.headers.authorization }) - 1;
    const steps = script(body, index);
    const refused = refusal(body, steps);
    if (refused !== undefined) {
      sendError(response, refused);
      return;
    }
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const usage = { prompt: 10, completion: 5 };
    const answer: Answer = { request: body, response, id: `chatcmpl-${index}`, finishReason: 'stop', usage };
    await stream(answer, steps, AbortSignal.any([gone.signal, closing.signal]));
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    usageReported,
    release: (hold) => gates.released.open(hold),
    reached: (hold) => gates.reached.wait(hold),
    close: () =>
      new Promise((resolve) => {
        closing.abort();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
