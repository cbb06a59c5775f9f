import type { FunctionTool, PromptMessage } from '../models/port.js';
import type { BuiltPrompt, PromptInput } from './build-prompt.js';
import { buildPrompt } from './build-prompt.js';
import { effectiveScale } from '../tokens/budget.js';
import { calledIn } from '../tools/more-tools.js';
import { ContextTooSmall } from './compaction.js';
import { estimatePrompt, estimateTools } from '../tokens/estimate.js';
import type { Room, Size } from './turn-fit.js';

export interface FittedPrompt extends BuiltPrompt {
  /** The turn's first tools, if not all of them fit. */
  tools: readonly FunctionTool[];
  size: Size;
}

/** Share of a prompt that tools may have, if something else is left out for them. */
const SHARE = 1 / 2;

const bytesOf = (prompt: readonly PromptMessage[], tools: readonly FunctionTool[]): number =>
  Buffer.byteLength(JSON.stringify([prompt, tools]));

/** Request size with this prompt and these tools. */
export const sizeOf = (prompt: readonly PromptMessage[], tools: readonly FunctionTool[]): Size => ({
  tokens: estimatePrompt(prompt, tools),
  bytes: bytesOf(prompt, tools),
});

/** The first tools within a number of tokens. */
function firstTools(tools: readonly FunctionTool[], tokens: number): readonly FunctionTool[] {
  const tooMany = tools.findIndex((_, index) => estimateTools(tools.slice(0, index + 1)) > tokens);
  return tooMany === -1 ? tools : tools.slice(0, tooMany);
}

/** Yields ever smaller tool sets, down to the tools that the turn needs. Leaving out tools is the last resort. */
function* toolSets({ tools, turn }: Pick<PromptInput, 'tools' | 'turn'>, tokens: number) {
  yield tools;
  const called = calledIn(turn);
  const half = firstTools(tools, tokens * SHARE);
  const needed = tools.filter(({ name }) => called.has(name));
  if (half.length > 0 && half.length < tools.length) yield [...new Set([...half, ...needed])];
  if (needed.length < tools.length) yield needed;
}

const isWithin = ({ tokens, bytes }: Size, room: Room): boolean => tokens <= room.tokens && bytes <= room.bytes;

/** Lowers the estimate until the bytes fit, too: of images and of some scripts, a token has more bytes than of others. */
const LOWER = 0.85;
const LOWERED = 12;

function build(input: PromptInput, room: Room): FittedPrompt {
  const { tools } = input;
  let tokens = Math.floor(room.tokens);
  for (let lowered = 0; ; lowered += 1) {
    const built = buildPrompt({ ...input, shown: room.isFound ? tokens : undefined });
    const size = {
      tokens: built.estimatedTokens / effectiveScale(input.scale),
      bytes: bytesOf(built.prompt, tools),
    };
    const fitted = { ...built, tools, size };
    if (!room.isFound || fitted.size.bytes <= room.bytes || lowered === LOWERED) return fitted;
    tokens = Math.floor(Math.min(tokens, fitted.size.tokens) * LOWER);
  }
}

/** True if tools displace too much of the conversation. */
const isCrowded = ({ omitted, tools }: FittedPrompt, room: Room): boolean =>
  omitted.messages > 0 && room.bytes === Infinity && estimateTools(tools) > room.tokens * SHARE;

/**
 * The prompt for the next request, with as many tools as fit. If the room was found, and not even the newest message fits, the smallest
 * prompt: the server decides about it.
 * @throws ContextTooSmall if the configured window is too small for any prompt
 */
export function fitPrompt(input: PromptInput, room: Room): FittedPrompt {
  let smallest: FittedPrompt | undefined;
  let tooSmall: ContextTooSmall | undefined;
  for (const tools of toolSets(input, room.tokens)) {
    try {
      const fitted = build({ ...input, tools }, room);
      if (!room.isFound || (isWithin(fitted.size, room) && !isCrowded(fitted, room))) return fitted;
      smallest = fitted;
    } catch (error) {
      if (!(error instanceof ContextTooSmall)) throw error;
      tooSmall = error;
    }
  }
  if (smallest === undefined) throw tooSmall ?? new ContextTooSmall('The context is too small for this turn.');
  return smallest;
}
