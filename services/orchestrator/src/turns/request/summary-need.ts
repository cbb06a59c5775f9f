import type { ModelLimits } from '../../platform/core/models.js';
import type { RuntimeWindows } from '../../runtimes/runtime-client.js';
import type { WholeMessages } from '../summaries/summaries.store.js';
import type { HistoryRow } from './history.store.js';

/** The tokens that a model accepts and writes in one call. */
export interface ContextWindow {
  /** Prompt and output together. */
  tokens: number;
  maxOutputTokens: number;
}

/** For servers without a description. Some refuse a longer prompt, and others cut it silently. */
const UNKNOWN_WINDOW = 64_000;
const UNKNOWN_OUTPUT = 4_096;
/** The output's greatest share, and the share that stays free, as the runtime computes them. */
const OUTPUT_SHARE = 0.25;
const FREE_SHARE = 0.05;

/** Below the counts for common text in most languages, so that the estimate exceeds the true count. */
const BYTES_PER_TOKEN = 3;
/** Instructions, tools, memories and a summary. A large window has room for them beside the messages' half. */
const FIXED_TOKENS = 4_000;
/** Messages that arrive before the next summary is written need a part of the rest. */
const WHOLE_OF_REST = 0.8;
const LEAST_SHARE = 1 / 8;

/** Per request. */
export const HISTORY_MESSAGES = 1_000;
/** For runtimes without the feature `LONG_HISTORY`. */
const SHORT_HISTORY_MESSAGES = 200;
const LONG_HISTORY = 'long-history.1';

export const maxMessagesOf = (features: readonly string[]): number =>
  features.includes(LONG_HISTORY) ? HISTORY_MESSAGES : SHORT_HISTORY_MESSAGES;

/** Below a request's limits by what arrives before the next summary is written. */
export const MOST_WHOLE: WholeMessages = { count: 800, bytes: 384 * 1024 };
/** A summary is written when at least this many messages exceed the whole ones. */
export const GROWTH = 20;
const GROWTH_BYTES = 64 * 1024;

/** Tokens for a summary: more words keep more, if the model that reads them has room. */
const SUMMARY_TOKENS = { least: 1_000, most: 4_000, share: 1 / 32 };

/** An author, and what separates messages. */
const MESSAGE_BYTES = 30;
/** Counts as much in a turn and in the job that writes summaries: otherwise neither would have a message between them. */
export const wholeBytes = (text: string): number => MESSAGE_BYTES + Buffer.byteLength(text);

/**
 * An agent's window: the operator's setting or the catalogue's entry, unless the server has stated a smaller one.
 *
 * @param model null: the runtime's default
 */
export function windowOf(
  limits: Pick<ModelLimits, 'context_window' | 'max_output_tokens'> | null | undefined,
  model: string | null,
  known?: RuntimeWindows,
): ContextWindow {
  const configured = known?.contextWindow || limits?.context_window || UNKNOWN_WINDOW;
  const stated = known?.windows.find((window) => window.model === (model ?? ''))?.tokens ?? Infinity;
  const tokens = Math.min(configured, stated);
  const output = limits?.max_output_tokens ?? UNKNOWN_OUTPUT;
  return { tokens, maxOutputTokens: Math.min(output, Math.floor(tokens * OUTPUT_SHARE)) };
}

const promptTokens = ({ tokens, maxOutputTokens }: ContextWindow): number =>
  tokens * (1 - FREE_SHARE) - maxOutputTokens;

/** Limits for the newest messages, which are always sent whole: half a prompt, or less if the window is small. */
export function wholeMessages(window: ContextWindow, maxMessages = HISTORY_MESSAGES): WholeMessages {
  const budget = promptTokens(window);
  const spare = Math.min(budget / 2, (budget - FIXED_TOKENS) * WHOLE_OF_REST);
  const bytes = Math.floor(Math.max(budget * LEAST_SHARE, spare) * BYTES_PER_TOKEN);
  return {
    count: Math.min(MOST_WHOLE.count, Math.floor(maxMessages * WHOLE_OF_REST)),
    bytes: Math.min(bytes, MOST_WHOLE.bytes),
  };
}

/** Message bytes that fit into one request for a summary. */
export const summarizedBytes = (window: ContextWindow): number =>
  Math.floor((promptTokens(window) / 2) * BYTES_PER_TOKEN);

export const summaryTokens = ({ tokens }: ContextWindow): number =>
  Math.floor(Math.min(SUMMARY_TOKENS.most, Math.max(SUMMARY_TOKENS.least, tokens * SUMMARY_TOKENS.share)));

/** True if these messages, which are not sent whole, are enough for a summary. */
export function hasGrown(messages: readonly Pick<HistoryRow, 'text'>[], whole: WholeMessages): boolean {
  const bytes = messages.reduce((sum, { text }) => sum + wholeBytes(text), 0);
  return messages.length >= GROWTH || (messages.length > 0 && bytes >= Math.min(GROWTH_BYTES, whole.bytes / 2));
}

/** The number of messages that are sent whole; at least one. */
function wholeCount(newestFirst: readonly HistoryRow[], whole: WholeMessages): number {
  let bytes = 0;
  const exceeding = newestFirst.findIndex(({ text }, index) => {
    bytes += wholeBytes(text);
    return index >= whole.count || (bytes > whole.bytes && index > 0);
  });
  return exceeding === -1 ? newestFirst.length : exceeding;
}

/**
 * A turn's messages: all without a summary, so that none is lost between the summary and the first message, and as many
 * others as are sent whole. Pure.
 */
export function neededMessages(newestFirst: readonly HistoryRow[], whole: WholeMessages): HistoryRow[] {
  const count = wholeCount(newestFirst, whole);
  return newestFirst.filter(({ covered }, index) => covered !== true || index < count);
}

/** True if enough messages are neither in the summary nor sent whole. Pure. */
export function needsSummary(newestFirst: readonly HistoryRow[], whole: WholeMessages): boolean {
  const exceeding = newestFirst.slice(wholeCount(newestFirst, whole)).filter(({ covered }) => covered !== true);
  return hasGrown(exceeding, whole);
}
