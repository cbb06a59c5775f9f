import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { storable } from '@uswarm/service-kit';
import { createModelText } from '../text/model-text.js';
import type { AssistantMessage, FinishReason, FunctionTool, Step, StepEvent, ToolCall } from './port.js';
import { argumentsFor } from './repair/arguments.js';
import { bareCalls, canBeCall } from './repair/bare-calls.js';
import { type FinishKind, finishKind } from './repair/finish-reasons.js';
import { createPrivateText, type Piece } from './repair/private-text.js';
import { callsAfterThoughts, nameIn, nestedCalls, readCalls } from './repair/text-calls.js';
import { toolNameOf } from './repair/tool-names.js';

type Part = AssistantMessage['content'][number];
type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;
type Metadata = Extract<LanguageModelV4StreamPart, { type: 'text-delta' }>['providerMetadata'];

/** For calls to tools that were not offered. */
export const INVALID_TOOL = 'invalid_tool';
/** Name for a call that cannot be read. */
const UNREADABLE = 'tool_call';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
/** Mistral accepts exactly nine letters and digits; other providers accept those, too. */
const ID_LENGTH = 9;

const newCallId = (): string => Array.from({ length: ID_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** More calls per message are rejected by OpenAI. Models that repeat themselves send hundreds. */
const MAX_CALLS = 128;

const asOptions = (metadata: Metadata): { providerOptions?: NonNullable<Metadata> } =>
  metadata === undefined ? {} : { providerOptions: metadata };

/** Reasoning comes back in the next request. Signed reasoning must come back unchanged. */
const cleanReasoning = (part: Part): Part =>
  part.type === 'reasoning' && part.providerOptions === undefined ? { ...part, text: storable(part.text) } : part;

/** A provider's additions under this key are sent back as message fields. */
function replayedFields(metadata: Metadata): Metadata {
  const fields = metadata?.['openaiCompatible'];
  return fields === undefined || Object.keys(fields).length === 0 ? undefined : { openaiCompatible: fields };
}

const OUTCOMES = { complete: 'answered', calls: 'answered', cut: 'length', refused: 'refused' } as const;

/** @returns undefined if the provider gave no reason: the stream was cut */
function kindOf({ raw, unified }: Finish['finishReason']): FinishKind | 'unknown' | undefined {
  if (unified === 'error') return 'failed';
  // A refusal can have a separate field, beside the reason of a complete text.
  if (unified === 'content-filter') return 'refused';
  return raw === undefined ? undefined : (finishKind(raw) ?? 'unknown');
}

/** Message content in arrival order. */
function createContent() {
  const parts: Part[] = [];
  /** The provider's reasoning by id: it can be signed, so nothing is added to it. */
  const open = new Map<string, Extract<Part, { type: 'reasoning' }>>();

  function append(type: 'text' | 'reasoning', text: string, metadata: Metadata): void {
    const last = parts.at(-1);
    const isSame = last?.type === type && last.providerOptions === undefined && metadata === undefined;
    if (isSame && ![...open.values()].includes(last as never)) last.text += text;
    else parts.push({ type, text, ...asOptions(metadata) });
  }

  return {
    parts,
    append,
    beginReasoning(id: string, metadata: Metadata): void {
      const part = { type: 'reasoning' as const, text: '', ...asOptions(metadata) };
      open.set(id, part);
      parts.push(part);
    },
    addReasoning(id: string, delta: string, metadata: Metadata): void {
      const part = open.get(id);
      if (part === undefined) return;
      part.text += delta;
      Object.assign(part, asOptions(metadata));
    },
    /** Removes the text after this length. `asThought`: it becomes reasoning */
    cut(length: number, asThought: boolean): void {
      let left = length;
      let removed = '';
      for (const part of parts) {
        if (part.type !== 'text') continue;
        const kept = part.text.slice(0, left);
        removed += part.text.slice(kept.length);
        left -= kept.length;
        part.text = kept;
      }
      for (let last = parts.at(-1); last?.type === 'text' && last.text === ''; last = parts.at(-1)) parts.pop();
      if (asThought && removed !== '') append('reasoning', removed, undefined);
    },
    thoughts: (): string => parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join('\n'),
  };
}

/** Assembles a model call's result from its stream parts. */
export interface StepAssembler {
  /** @returns what the part adds to the visible text, or takes back */
  add(part: LanguageModelV4StreamPart): StepEvent[];
  /** @returns undefined if the response was cut or failed, so that the call can be repeated */
  end(): Step | undefined;
}

export function createStepAssembler(tools: readonly FunctionTool[]): StepAssembler {
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const names = new Set(offered.keys());
  const content = createContent();
  const calls: ToolCall[] = [];
  const visible = createModelText();
  const privates = createPrivateText();
  const textCalls: Extract<Piece, { type: 'call' }>[] = [];
  let text = '';
  /** The end of the text, which was not shown yet. Cutting it from the text would copy the text each time. */
  let waiting = '';
  let unreadable: string | undefined;
  let finish: FinishKind | 'unknown' | undefined;
  /** Fields that the provider wants back in the same message. */
  let replayed: Metadata;

  function addCall(name: string, input: string, metadata?: Metadata): void {
    if (calls.length === MAX_CALLS) return;
    const known = toolNameOf(name, names);
    const nested = known === undefined ? nestedCalls(input, names) : undefined;
    if (nested !== undefined) {
      for (const inner of nested) addCall(inner.name, inner.input, metadata);
      return;
    }
    const tool = known === undefined ? undefined : offered.get(known);
    const call: ToolCall = { id: newCallId(), name: known ?? name, input: argumentsFor(tool, input) };
    calls.push(call);
    content.parts.push({
      type: 'tool-call',
      toolCallId: call.id,
      // Servers reject requests that contain unknown names or other arguments than objects.
      toolName: known ?? INVALID_TOOL,
      input: call.input ?? {},
      ...asOptions(metadata),
    });
  }

  function apply(piece: Piece, metadata: Metadata): StepEvent[] {
    switch (piece.type) {
      case 'text':
        text += piece.text;
        waiting += piece.text;
        content.append('text', piece.text, metadata);
        return [];
      case 'thought':
        content.append('reasoning', piece.text, undefined);
        return [];
      case 'call':
        textCalls.push(piece);
        return [];
      case 'void':
        return takeBack(piece.length, piece.asThought);
    }
  }

  function takeBack(length: number, asThought: boolean): StepEvent[] {
    const sent = text.length - waiting.length;
    text = text.slice(0, length);
    content.cut(length, asThought);
    waiting = sent > length ? text : text.slice(sent);
    return sent > length ? [{ type: 'retracted' }] : [];
  }

  function show(pieces: readonly Piece[], metadata: Metadata, isWhole = false): StepEvent[] {
    const before = pieces.flatMap((piece) => apply(piece, metadata));
    const isHeld = waiting.length === text.length && !isWhole && canBeCall(text, names);
    if (waiting === '' || isHeld) return before;
    const added = waiting;
    waiting = '';
    return [...before, { type: 'text', text: added }];
  }

  /** Calls that are part of the text, unless the server has also sent them as calls. */
  function addTextCalls(): void {
    const known = [...calls];
    const add = (name: string, input: string): void => {
      const tool = toolNameOf(name, names);
      const value = argumentsFor(offered.get(tool ?? ''), input);
      if (!known.some((call) => call.name === tool && isDeepStrictEqual(call.input, value))) addCall(name, input);
    };
    for (const { text: written, recipient, isClosed } of textCalls) {
      const read = recipient === undefined ? readCalls(written, isClosed) : [{ name: recipient, input: written }];
      if (read === undefined) {
        add(nameIn(written, names) ?? UNREADABLE, written);
        if (calls.at(-1)?.input === undefined) unreadable ??= written;
      } else for (const { name, input } of read) add(name, input);
    }
  }

  /** Shows the rest, and finds calls in what the model wrote. */
  function complete(): StepEvent[] {
    const rest = [...privates.add(visible.end()), ...privates.end()];
    const before = rest.flatMap((piece) => apply(piece, undefined));
    if (tools.length > 0) addTextCalls();
    const isOnlyText = calls.length === 0;
    const bare = isOnlyText ? bareCalls(text, tools) : undefined;
    if (bare !== undefined) {
      before.push(...takeBack(0, false));
      text = bare.text;
      waiting = text;
      content.append('text', text, undefined);
      for (const { name, input } of bare.calls) addCall(name, input);
    } else if (isOnlyText && text.trim() === '') {
      for (const { name, input } of callsAfterThoughts(content.thoughts(), names)) addCall(name, input);
    }
    return [...before, ...show([], undefined, true)];
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
        case 'reasoning-start':
          content.beginReasoning(part.id, part.providerMetadata);
          return [];
        case 'reasoning-delta':
          content.addReasoning(part.id, part.delta, part.providerMetadata);
          return [];
        case 'reasoning-end':
          content.addReasoning(part.id, '', part.providerMetadata);
          return [];
        case 'text-delta':
          return show(privates.add(visible.add(part.delta)), part.providerMetadata);
        case 'text-end':
          return show(privates.add(visible.end()), part.providerMetadata);
        case 'tool-call':
          addCall(part.toolName, part.input, part.providerMetadata);
          return [];
        case 'finish':
          finish = kindOf(part.finishReason);
          replayed = replayedFields(part.providerMetadata);
          return complete();
        default:
          return [];
      }
    },
    end() {
      const reason = finishReason();
      if (reason === undefined) return undefined;
      // Providers reject empty text.
      const kept = content.parts.filter((part) => part.type !== 'text' || part.text !== '').map(cleanReasoning);
      return {
        finish: reason,
        text,
        calls,
        message: { role: 'assistant', content: kept, ...asOptions(replayed) },
        ...(unreadable === undefined ? {} : { unreadable }),
      };
    },
  };
}
