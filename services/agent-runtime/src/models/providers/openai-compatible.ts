import type { JSONValue, LanguageModelV4 } from '@ai-sdk/provider';
import { createOpenAICompatible, type MetadataExtractor } from '@ai-sdk/openai-compatible';
import { resolveModel } from '../model-names.js';
import type { Prompt, PromptMessage } from '../port.js';
import { repairCompletion } from '../completion-repair.js';
import type { AdapterOptions, AttemptOptions, Fetch, ProviderAdapter } from './adapter.js';

type Body = Record<string, unknown>;

/** Newer models of OpenAI have another name for the output limit. */
function renameLimit(body: Body, refused: ReadonlySet<string>): Body {
  const { max_tokens: maxTokens, ...rest } = body;
  if (maxTokens === undefined || !refused.has('max_tokens')) return body;
  return refused.has('max_completion_tokens') ? rest : { ...rest, max_completion_tokens: maxTokens };
}

/** Message fields that servers want back unchanged, such as encrypted reasoning. */
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

/** Tool results contain only text in this protocol, so their images follow in a user message. */
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

/** The client library's models. They are kept: each new one builds and compiles its chunk schema. */
function createModels(baseUrl: string) {
  const known = new Map<string, LanguageModelV4>();
  /** By an attempt's signal, which the client library passes on. */
  const fetches = new WeakMap<AbortSignal, Fetch>();

  const fetchOfAttempt: Fetch = async (input, init) => {
    const fetch = fetches.get(init?.signal as AbortSignal);
    // Not the global one, which follows redirects and measures nothing.
    if (fetch === undefined) throw new TypeError('the request belongs to no attempt');
    return fetch(input, init);
  };

  const create = (name: string): LanguageModelV4 =>
    createOpenAICompatible({
      name: 'openai',
      baseURL: baseUrl,
      fetch: fetchOfAttempt,
      includeUsage: true,
      metadataExtractor: replayExtractor,
    }).chatModel(name);

  return {
    of(name: string): LanguageModelV4 {
      const model = known.get(name) ?? create(name);
      known.set(name, model);
      return model;
    },
    useFetch: (signal: AbortSignal, fetch: Fetch): void => void fetches.set(signal, fetch),
  };
}

/** Servers with the chat completions protocol. */
export function createOpenAiCompatible({ slug, baseUrl, apiKey, names }: AdapterOptions): ProviderAdapter {
  const models = createModels(baseUrl);
  return {
    slug,
    modelName: (requested) => resolveModel(requested, names),
    languageModel({ model, fetch, token }: AttemptOptions) {
      const key = token ?? apiKey;
      const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
      return {
        doStream(options) {
          const abortSignal = options.abortSignal ?? new AbortController().signal;
          models.useFetch(abortSignal, fetch);
          return models.of(model).doStream({ ...options, abortSignal, headers });
        },
      };
    },
    reduce: renameLimit,
    prepare: (prompt: Prompt) => prompt.map(joinTexts).flatMap(moveImages),
    repair: repairCompletion,
  };
}
