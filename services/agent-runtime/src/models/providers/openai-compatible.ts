import type { JSONValue, LanguageModelV4 } from '@ai-sdk/provider';
import { createOpenAICompatible, type MetadataExtractor } from '@ai-sdk/openai-compatible';
import { type ModelNames, resolveModel } from '../model-names.js';
import type { Prompt, PromptMessage } from '../port.js';
import { repairCompletion } from '../completion-repair.js';
import type { AttemptOptions, Fetch, ProviderAdapter } from './adapter.js';

export interface OpenAiCompatibleDeps {
  /** Default: OpenAI. */
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  names: ModelNames;
}

const OPENAI = 'https://api.openai.com/v1';

type Body = Record<string, unknown>;

/** Removes or renames parameters that the server rejected. */
function reduce(body: Body, rejected: ReadonlySet<string>): Body {
  const { max_tokens: maxTokens, ...rest } = body;
  const reduced: Body = rejected.has('max_tokens') ? { ...rest, max_completion_tokens: maxTokens } : { ...body };
  for (const name of ['stream_options', 'tool_choice', 'max_completion_tokens']) {
    if (rejected.has(name)) Reflect.deleteProperty(reduced, name);
  }
  const { messages } = reduced;
  if (!rejected.has('reasoning_content') || !Array.isArray(messages)) return reduced;
  return {
    ...reduced,
    messages: messages.map(({ reasoning_content: _, reasoning_details: __, ...message }: Body) => message),
  };
}

/** Fields of a message that servers want back unchanged, such as encrypted reasoning. */
const REPLAYED = ['reasoning_details', 'extra_content'] as const;

interface Chunk {
  choices?: readonly { delta?: Record<string, JSONValue | undefined> | null }[];
}

/** Collects the fields from the stream: lists are continued, other values replaced. */
const replayExtractor: MetadataExtractor = {
  extractMetadata: () => Promise.resolve(undefined),
  createStreamExtractor() {
    const fields: Record<string, JSONValue> = {};
    return {
      processChunk(chunk) {
        const delta = (chunk as Chunk).choices?.[0]?.delta;
        for (const name of REPLAYED) {
          const piece = delta?.[name];
          const known = fields[name];
          if (piece === undefined || piece === null) continue;
          fields[name] = Array.isArray(known) && Array.isArray(piece) ? [...known, ...piece] : piece;
        }
      },
      buildMetadata: () => ({ openaiCompatible: fields }),
    };
  },
};

/** Joins neighbouring texts: some servers accept only one text per message. */
function joinTexts(message: PromptMessage): PromptMessage {
  if (message.role !== 'user' || message.content.some(({ type }) => type !== 'text')) return message;
  const text = message.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n\n');
  return { ...message, content: [{ type: 'text', text }] };
}

type ToolMessage = Extract<PromptMessage, { role: 'tool' }>;
type ToolPart = ToolMessage['content'][number];
type File = Extract<Extract<PromptMessage, { role: 'user' }>['content'][number], { type: 'file' }>;

function filesOf(part: ToolPart): File[] {
  if (part.type !== 'tool-result' || part.output.type !== 'content') return [];
  return part.output.value.flatMap((one) => (one.type === 'file' ? [one] : []));
}

function withoutFiles(part: ToolPart): ToolPart {
  if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
  const value = part.output.value.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n');
  return { ...part, output: { type: 'text', value } };
}

/** Results of tools contain only text in this protocol, so their images follow in a message of the user. */
function moveImages(message: PromptMessage): PromptMessage[] {
  if (message.role !== 'tool') return [message];
  const files = message.content.flatMap(filesOf);
  if (files.length === 0) return [message];
  const label = { type: 'text' as const, text: 'Images of the tool results, in their order:' };
  return [
    { ...message, content: message.content.map(withoutFiles) },
    { role: 'user', content: [label, ...files] },
  ];
}

/** The models of the client library. They are kept: each new one builds and compiles the schema of its chunks. */
function createModels(baseUrl: string) {
  const known = new WeakMap<ReadonlySet<string>, Map<string, LanguageModelV4>>();
  /** By the signal of an attempt, which the client library passes on. */
  const fetches = new WeakMap<AbortSignal, Fetch>();

  const fetchOfAttempt: Fetch = async (input, init) => {
    const fetch = fetches.get(init?.signal as AbortSignal);
    // Not the global one, which follows redirects and measures nothing.
    if (fetch === undefined) throw new TypeError('the request belongs to no attempt');
    return fetch(input, init);
  };

  const create = (name: string, rejected: ReadonlySet<string>): LanguageModelV4 =>
    createOpenAICompatible({
      name: 'openai',
      baseURL: baseUrl,
      fetch: fetchOfAttempt,
      includeUsage: true,
      metadataExtractor: replayExtractor,
      transformRequestBody: (body) => reduce(body, rejected),
    }).chatModel(name);

  return {
    of(name: string, rejected: ReadonlySet<string>): LanguageModelV4 {
      const models = known.get(rejected) ?? new Map<string, LanguageModelV4>();
      const model = models.get(name) ?? create(name, rejected);
      known.set(rejected, models.set(name, model));
      return model;
    },
    useFetch: (signal: AbortSignal, fetch: Fetch): void => void fetches.set(signal, fetch),
  };
}

/** OpenAI, and servers with its chat completions protocol. */
export function createOpenAiCompatible({ baseUrl = OPENAI, apiKey, names }: OpenAiCompatibleDeps): ProviderAdapter {
  const models = createModels(baseUrl);
  return {
    slug: 'openai',
    optionalParameters: ['stream_options', 'tool_choice', 'max_completion_tokens', 'max_tokens', 'reasoning_content'],
    modelName: (requested) => resolveModel(requested, names),
    languageModel({ model, fetch, rejected, token }: AttemptOptions) {
      const key = token ?? apiKey;
      const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
      return {
        doStream(options) {
          const abortSignal = options.abortSignal ?? new AbortController().signal;
          models.useFetch(abortSignal, fetch);
          return models.of(model, rejected).doStream({ ...options, abortSignal, headers });
        },
      };
    },
    prepare: (prompt: Prompt) => prompt.map(joinTexts).flatMap(moveImages),
    repair: repairCompletion,
  };
}
