import { randomInt } from 'node:crypto';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { storable } from '@uswarm/service-kit';
import { createModelText } from './model-text.js';
import type { AssistantMessage, FinishReason, Step, ToolCall } from './port.js';
import { type FinishKind, finishKind } from './repair/finish-reasons.js';

type Part = AssistantMessage['content'][number];
type TextPart = Extract<Part, { type: 'text' | 'reasoning' }>;
type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;
type Metadata = Extract<LanguageModelV4StreamPart, { type: 'text-delta' }>['providerMetadata'];

/** For calls of tools that were not offered. */
export const INVALID_TOOL = 'invalid_tool';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
/** Mistral accepts exactly nine letters and digits; other providers accept those, too. */
const ID_LENGTH = 9;

const newCallId = (): string => Array.from({ length: ID_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** More calls per message are rejected by OpenAI. Models that repeat themselves send hundreds. */
const MAX_CALLS = 128;

/** Some servers send an empty object before the arguments. */
const PLACEHOLDER = /^\{\}(?=\s*\{)/;

function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(cleanValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [storable(key), cleanValue(entry)]));
}

/** The arguments of a call; undefined unless they are a JSON object. */
function parseInput(text: string): Record<string, unknown> | undefined {
  try {
    const bare = text.trim().replace(PLACEHOLDER, '');
    const value: unknown = JSON.parse(bare === '' || bare === 'null' ? '{}' : bare);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (cleanValue(value) as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const asOptions = (metadata: Metadata): { providerOptions?: NonNullable<Metadata> } =>
  metadata === undefined ? {} : { providerOptions: metadata };

/** Reasoning comes back in the next request. Signed reasoning must come back unchanged. */
const cleanReasoning = (part: Part): Part =>
  part.type === 'reasoning' && part.providerOptions === undefined ? { ...part, text: storable(part.text) } : part;

/** What a provider adds to the message under this key is sent back as fields of the message. */
function replayedFields(metadata: Metadata): Metadata {
  const fields = metadata?.['openaiCompatible'];
  return fields === undefined || Object.keys(fields).length === 0 ? undefined : { openaiCompatible: fields };
}

const OUTCOMES = { complete: 'answered', calls: 'answered', cut: 'length', refused: 'refused' } as const;

/** @returns undefined without a reason of the provider: the stream was cut */
function kindOf({ raw, unified }: Finish['finishReason']): FinishKind | 'unknown' | undefined {
  if (unified === 'error') return 'failed';
  // A refusal can have a separate field, beside the reason of a complete text.
  if (unified === 'content-filter') return 'refused';
  return raw === undefined ? undefined : (finishKind(raw) ?? 'unknown');
}

/** Assembles the result of a model call from the parts of its stream. */
export interface StepAssembler {
  /** @returns visible text of the part */
  add(part: LanguageModelV4StreamPart): string;
  /** @returns undefined if the response was cut or failed, so that the call can be repeated */
  end(): Step | undefined;
}

export function createStepAssembler(offered: ReadonlySet<string>): StepAssembler {
  const content: Part[] = [];
  const open = new Map<string, TextPart>();
  const calls: ToolCall[] = [];
  let text = '';
  let finish: FinishKind | 'unknown' | undefined;
  const visible = createModelText();
  /** Fields that the provider wants back in the same message. */
  let replayed: Metadata;

  function begin(type: 'text' | 'reasoning', id: string, metadata: Metadata): void {
    const part: TextPart = { type, text: '', ...asOptions(metadata) };
    open.set(`${type}:${id}`, part);
    content.push(part);
  }

  function append(type: 'text' | 'reasoning', id: string, delta: string, metadata: Metadata): void {
    const part = open.get(`${type}:${id}`);
    if (part === undefined) return;
    part.text += delta;
    Object.assign(part, asOptions(metadata));
  }

  function show(id: string, shown: string, metadata: Metadata): string {
    append('text', id, shown, metadata);
    text += shown;
    return shown;
  }

  function addCall(name: string, input: string, metadata: Metadata): void {
    if (calls.length === MAX_CALLS) return;
    const call: ToolCall = { id: newCallId(), name, input: parseInput(input) };
    calls.push(call);
    content.push({
      type: 'tool-call',
      toolCallId: call.id,
      // Servers reject requests that contain unknown names or other arguments than objects.
      toolName: offered.has(name) ? name : INVALID_TOOL,
      input: call.input ?? {},
      ...asOptions(metadata),
    });
  }

  /** @returns undefined if the response is void */
  function finishReason(): FinishReason | undefined {
    if (finish === undefined || finish === 'failed') return undefined;
    if (calls.length > 0) return 'calls';
    if (finish !== 'unknown') return OUTCOMES[finish];
    return text.trim() === '' ? undefined : 'unknown';
  }

  return {
    add(part) {
      switch (part.type) {
        case 'text-start':
          begin('text', part.id, part.providerMetadata);
          return '';
        case 'reasoning-start':
          begin('reasoning', part.id, part.providerMetadata);
          return '';
        case 'text-delta':
          return show(part.id, visible.add(part.delta), part.providerMetadata);
        case 'reasoning-delta':
          append('reasoning', part.id, part.delta, part.providerMetadata);
          return '';
        case 'text-end':
          return show(part.id, visible.end(), part.providerMetadata);
        case 'reasoning-end':
          append('reasoning', part.id, '', part.providerMetadata);
          return '';
        case 'tool-call':
          addCall(part.toolName, part.input, part.providerMetadata);
          return '';
        case 'finish':
          finish = kindOf(part.finishReason);
          replayed = replayedFields(part.providerMetadata);
          return '';
        default:
          return '';
      }
    },
    end() {
      const reason = finishReason();
      if (reason === undefined) return undefined;
      // Providers reject empty text.
      const kept = content.filter((part) => part.type !== 'text' || part.text !== '').map(cleanReasoning);
      return {
        finish: reason,
        text,
        calls,
        message: { role: 'assistant', content: kept, ...asOptions(replayed) },
      };
    },
  };
}
