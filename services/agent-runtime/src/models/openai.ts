import { randomUUID } from 'node:crypto';
import { type Backoff, retry } from '@uswarm/service-kit';
import OpenAI from 'openai';
import { ModelError, type ModelEvent, type ModelProvider, type ModelRequest } from './model.js';
import { isTransient, toModelError } from './openai-errors.js';
import { createCallAssembler, toCompletionParams } from './openai-messages.js';
import { createWatchdog, type Watchdog } from './watchdog.js';

/** Maps model ids of the catalogue to names of the provider. */
export interface ModelNames {
  byId: Readonly<Record<string, string | undefined>>;
  /** For every id that `byId` does not name. */
  fallback?: string | undefined;
  /** For requests without a model: a catalogue id or a name of the provider. */
  preferred?: string | undefined;
}

export interface OpenAiDeps {
  /** Any server with the chat completions protocol; default: OpenAI. */
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  models: ModelNames;
  /** Milliseconds to the first byte, and between chunks. */
  timeoutMs: number;
  /** Only before the first chunk. */
  retries?: Backoff & { deadlineMs: number };
}

const CATALOGUE = new Set(['flash', 'sonnet', 'opus']);
/** If neither the request nor the configuration has a model. */
const DEFAULT_ID = 'sonnet';

/** @throws ModelError if no model is configured */
export function resolveModel(requested: string, { byId, fallback, preferred }: ModelNames): string {
  const id = requested || preferred || DEFAULT_ID;
  if (!CATALOGUE.has(id)) return id;
  const own = CATALOGUE.has(preferred ?? '') ? undefined : preferred;
  const model = byId[id] ?? fallback ?? own;
  if (model) return model;
  throw new ModelError('model_rejected', 'No model is configured: set OPENAI_MODEL.');
}

/** Yields the events of the chunks: first the text, then the complete tool calls. */
async function* readChunks(
  chunks: AsyncIterable<OpenAI.ChatCompletionChunk>,
  model: string,
  watchdog: Watchdog,
): AsyncGenerator<ModelEvent> {
  const assembler = createCallAssembler(() => `call_${randomUUID()}`);
  let usage: ModelEvent | undefined;
  let finish: ModelEvent | undefined;
  try {
    for await (const chunk of chunks) {
      watchdog.touch();
      if (chunk.usage) {
        const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = chunk.usage;
        usage = { type: 'usage', model: chunk.model || model, promptTokens, completionTokens };
      }
      const choice = chunk.choices?.[0];
      if (choice === undefined) continue;
      if (choice.delta.content) yield { type: 'text', text: choice.delta.content };
      assembler.add(choice.delta.tool_calls ?? []);
      if (choice.finish_reason) finish = { type: 'finish', reason: choice.finish_reason };
    }
  } finally {
    // Usage counts even if the rest of the response fails.
    if (usage !== undefined) yield usage;
  }
  watchdog.signal.throwIfAborted();
  if (finish === undefined)
    throw new ModelError('model_unavailable', 'The model provider closed the connection during its response.');
  const calls = assembler.calls();
  if (calls.length > 0) yield { type: 'tool_calls', calls };
  yield finish;
}

/** A provider for OpenAI and servers with its chat completions protocol. */
export function createOpenAiProvider(deps: OpenAiDeps): ModelProvider {
  const { baseUrl, apiKey, models, timeoutMs } = deps;
  const retries = deps.retries ?? { initialMs: 250, maxMs: 1_000, deadlineMs: 2_000 };
  const client = new OpenAI({
    ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
    // The client requires a key, but local servers need none.
    apiKey: apiKey ?? 'none',
    adminAPIKey: null,
    maxRetries: 0,
    // The client logs to standard output.
    logLevel: 'off',
  });

  async function* stream(request: ModelRequest, { signal }: { signal: AbortSignal }): AsyncGenerator<ModelEvent> {
    const model = resolveModel(request.model, models);
    const watchdog = createWatchdog(signal, timeoutMs);
    try {
      const chunks = await retry(
        () => client.chat.completions.create(toCompletionParams(model, request), { signal: watchdog.signal }),
        { ...retries, signal: watchdog.signal, retryable: isTransient },
      );
      yield* readChunks(chunks, model, watchdog);
    } catch (error) {
      watchdog.signal.throwIfAborted();
      throw toModelError(error);
    } finally {
      watchdog.stop();
    }
  }

  return { name: 'openai', stream };
}
