import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, count, type ProtocolWriter } from './answer.js';
import { anthropicWriter, parseAnthropicRequest, sendAnthropicError } from './anthropic-protocol.js';
import { countPromptTokens } from './count-tokens.js';
import {
  lastToolText,
  type ModelProtocol,
  type ModelScript,
  type ModelServerRequest,
  type ModelStep,
  type ReceivedRequest,
  type ScriptedError,
} from './model-script.js';
import { openAiWriter, parseOpenAiRequest, sendOpenAiError } from './openai-protocol.js';
import { brokenContent, brokenRequest } from './request-rules.js';
import {
  readTranscription,
  type ReceivedTranscription,
  sendTranscription,
  type TranscriptionScript,
} from './transcriptions.js';

/** Sums over responses. */
export interface ModelUsage {
  answers: number;
  promptTokens: number;
  completionTokens: number;
}

export interface ModelServerOptions {
  script: ModelScript;
  /** Default: the server has no route for transcriptions, as servers for chat have none. */
  transcribe?: TranscriptionScript;
  /** Refuses requests that strict providers refuse, such as roles that do not alternate. */
  strict?: boolean;
  /** Default: 127.0.0.1. */
  host?: string;
  /** Default: a free one. */
  port?: number;
  /** In tokens: refuses requests whose prompt and output limit together exceed it. */
  contextWindow?: number;
  /** Called when a response was sent completely, or its connection was closed before; `index` as in the script. */
  onEnd?: (index: number, complete: boolean) => void;
}

export interface ModelServer {
  /** The value for OPENAI_BASE_URL and ANTHROPIC_BASE_URL. */
  baseUrl: string;
  /** Requests with a valid form, including requests refused for their content. */
  requests: readonly ReceivedRequest[];
  /** Accepted recordings. */
  transcriptions: readonly ReceivedTranscription[];
  /** Refusal reasons, in order. */
  refusals: readonly string[];
  /** Sums over the responses whose usage was sent. */
  readonly usageReported: ModelUsage;
  /** Sums over all responses that began, with the tokens that were sent before a connection was cut. */
  readonly usageCounted: ModelUsage;
  /** Continues all current and future requests at this hold point. */
  release(hold: string): void;
  /** Resolves when a request reaches, or has reached, the hold point. */
  reached(hold: string): Promise<void>;
  close(): Promise<void>;
}

/** Named promises; `open` can be called before `wait`. */
function createGates(): { open(name: string): void; wait(name: string): Promise<void> } {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gate = (name: string): PromiseWithResolvers<void> => {
    const known = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, known);
    return known;
  };
  return { open: (name) => gate(name).resolve(), wait: (name) => gate(name).promise };
}

interface Gates {
  released: ReturnType<typeof createGates>;
  reached: ReturnType<typeof createGates>;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  try {
    return JSON.parse(Buffer.concat(pieces).toString('utf8'));
  } catch {
    return undefined;
  }
}

const sendError = (protocol: ModelProtocol, response: ServerResponse, error: ScriptedError): void =>
  protocol === 'openai' ? sendOpenAiError(response, error) : sendAnthropicError(response, error);

function protocolOf({ method, url = '' }: IncomingMessage): ModelProtocol | undefined {
  if (method !== 'POST') return undefined;
  if (url.endsWith('/chat/completions')) return 'openai';
  return url.endsWith('/messages') ? 'anthropic' : undefined;
}

function authorizationOf({ headers }: IncomingMessage): string | undefined {
  const key = headers['x-api-key'];
  return headers.authorization ?? (typeof key === 'string' ? `Bearer ${key}` : undefined);
}

function overflow(request: ModelServerRequest, protocol: ModelProtocol, window: number): ScriptedError | undefined {
  if (window === Infinity) return undefined;
  const prompt = countPromptTokens(request);
  const output = request.max_tokens ?? request.max_completion_tokens ?? 0;
  if (prompt + output <= window) return undefined;
  const type = 'invalid_request_error';
  return protocol === 'anthropic'
    ? { status: 400, type, message: `prompt is too long: ${prompt + output} tokens > ${window} maximum` }
    : {
        status: 400,
        type,
        code: 'context_length_exceeded',
        message: `This model's maximum context length is ${window} tokens. However, you requested ${prompt + output} tokens (${prompt} in the messages, ${output} in the completion). Please reduce the length of the messages or completion.`,
      };
}

/** The script's error response, if it has one. */
function scriptedError(request: ModelServerRequest, steps: readonly ModelStep[]): ScriptedError | undefined {
  const scripted = steps.find((step) => 'error' in step);
  if (scripted !== undefined) return scripted.error;
  const needsTool = steps.some((step) => 'fromTool' in step);
  if (!needsTool || lastToolText(request) !== undefined) return undefined;
  return { status: 400, message: 'the script needs a tool message, but the request has none' };
}

/** Flushes the written data first, so that the client receives all of it. */
async function disconnect(response: ServerResponse): Promise<void> {
  if (response.headersSent) await new Promise<void>((resolve) => response.write('\n', () => resolve()));
  response.destroy();
  await once(response, 'close');
}

/** Sends the bytes as a separate packet, which the client can read before the next one. */
async function sendPacket(response: ServerResponse, bytes: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => response.write(bytes, () => resolve()));
  await new Promise((resolve) => setImmediate(resolve));
}

/** Runs a step that writes. @returns whether it was one */
function writeStep(step: ModelStep, answer: Answer, writer: ProtocolWriter): boolean {
  if ('text' in step) writer.text(step.text);
  else if ('fromTool' in step) writer.text(step.fromTool(lastToolText(answer.request) ?? ''));
  else if ('thinking' in step) writer.thinking(step.thinking, step.signature);
  else if ('redactedThinking' in step) writer.redactedThinking(step.redactedThinking);
  else if ('toolCalls' in step) writer.calls(step.toolCalls);
  else if ('ping' in step) writer.ping();
  else if ('streamError' in step) writer.error(step.streamError);
  else if ('finish' in step) answer.finish = step.finish;
  else if ('usage' in step) answer.counted = { ...step.usage };
  else return false;
  return true;
}

/** Runs one step; `gone` aborts when the client disconnects. */
async function runStep(step: ModelStep, answer: Answer, writer: ProtocolWriter, gates: Gates, gone: AbortSignal) {
  if (writeStep(step, answer, writer)) return;
  if ('raw' in step) {
    count(answer, step.counts ?? '');
    await sendPacket(answer.response, step.raw);
  } else if ('delayMs' in step) await sleep(step.delayMs, undefined, { signal: gone });
  else if ('hold' in step) {
    gates.reached.open(step.hold);
    await Promise.race([gates.released.wait(step.hold), once(gone, 'abort')]);
  } else if ('hang' in step) await once(gone, 'abort');
  else if ('disconnect' in step) await disconnect(answer.response);
  else if ('end' in step) answer.response.end();
}

async function stream(
  answer: Answer,
  writer: ProtocolWriter,
  steps: readonly ModelStep[],
  gates: Gates,
  gone: AbortSignal,
): Promise<boolean> {
  const { response } = answer;
  const first = steps[0];
  const silent = first !== undefined && ('hang' in first || 'disconnect' in first);
  if (!silent) {
    const { contentType } = steps.find((step) => 'contentType' in step) ?? { contentType: 'text/event-stream' };
    const typed = contentType === undefined ? {} : { 'content-type': contentType };
    response.writeHead(200, { ...typed, 'cache-control': 'no-cache' });
    response.flushHeaders();
    if (!steps.some((step) => 'raw' in step)) writer.open();
  }
  for (const step of steps) {
    await runStep(step, answer, writer, gates, gone);
    if (gone.aborted || response.writableEnded) return false;
  }
  return writer.close();
}

function sumUsage(answers: readonly Answer[]): ModelUsage {
  const sum = { answers: answers.length, promptTokens: 0, completionTokens: 0 };
  for (const { counted } of answers) {
    sum.promptTokens += counted.prompt;
    sum.completionTokens += counted.completion;
  }
  return sum;
}

/**
 * Starts a scripted model server, which replaces a paid service in tests. It speaks the OpenAI chat completions
 * protocol and the Anthropic Messages protocol, both streaming only, and OpenAI's transcriptions.
 */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const { script, strict = false, contextWindow = Infinity, host = '127.0.0.1', port = 0, onEnd } = options;
  const requests: ReceivedRequest[] = [];
  const transcriptions: ReceivedTranscription[] = [];
  const refusals: string[] = [];
  const answers: Answer[] = [];
  const reported: Answer[] = [];
  const gates = { released: createGates(), reached: createGates() };
  const closing = new AbortController();

  /** @returns the request, or undefined after an error response */
  function accept(protocol: ModelProtocol, request: IncomingMessage, response: ServerResponse, raw: unknown) {
    const refuse = (error: ScriptedError): undefined => {
      refusals.push(error.message ?? '');
      sendError(protocol, response, error);
    };
    const body = protocol === 'openai' ? parseOpenAiRequest(raw) : parseAnthropicRequest(raw, strict);
    if (typeof body === 'string') return refuse({ status: 400, message: body });
    const received = { protocol, body, raw: raw as Record<string, unknown>, authorization: authorizationOf(request) };
    const index = requests.push(received) - 1;
    const check = protocol === 'openai' ? brokenRequest : brokenContent;
    const broken = strict ? check(body) : undefined;
    if (broken !== undefined) return refuse({ status: 400, message: broken });
    const tooLarge = overflow(body, protocol, contextWindow);
    return tooLarge === undefined ? { received, index } : refuse(tooLarge);
  }

  async function transcribe(transcription: TranscriptionScript, request: IncomingMessage, response: ServerResponse) {
    const received = await readTranscription(request);
    if ('status' in received) {
      refusals.push(received.message ?? '');
      sendOpenAiError(response, received);
      return;
    }
    sendTranscription(await transcription(received, transcriptions.push(received) - 1), response);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = request;
    if (options.transcribe !== undefined && method === 'POST' && url.endsWith('/audio/transcriptions')) {
      await transcribe(options.transcribe, request, response);
      return;
    }
    const protocol = protocolOf(request);
    const raw = await readJson(request);
    if (protocol === undefined) {
      sendOpenAiError(response, { status: 404, message: 'route not found' });
      return;
    }
    const accepted = accept(protocol, request, response, raw);
    if (accepted === undefined) return;
    const { received, index } = accepted;
    const { body } = received;
    const steps = script(body, index, received);
    const refused = scriptedError(body, steps);
    if (refused !== undefined) {
      sendError(protocol, response, refused);
      return;
    }
    const gone = new AbortController();
    response.once('close', () => {
      gone.abort();
      onEnd?.(index, response.writableFinished);
    });
    const scripted = steps.find((step) => 'usage' in step)?.usage;
    const counted = { prompt: scripted?.prompt ?? countPromptTokens(body), completion: 0 };
    const answer: Answer = { request: body, response, id: `answer-${index}`, finish: 'stop', counted, scripted };
    answers.push(answer);
    const writer = protocol === 'openai' ? openAiWriter(answer) : anthropicWriter(answer);
    if (await stream(answer, writer, steps, gates, AbortSignal.any([gone.signal, closing.signal]))) {
      reported.push(answer);
    }
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));

  return {
    baseUrl: `http://${host}:${(server.address() as AddressInfo).port}/v1`,
    requests,
    transcriptions,
    refusals,
    get usageReported() {
      return sumUsage(reported);
    },
    get usageCounted() {
      return sumUsage(answers);
    },
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
