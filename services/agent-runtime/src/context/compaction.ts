import type { EntryFile } from './attached-files.js';
import { type Entry, toEntry } from './conversation.js';
import { cutMiddle } from './cut.js';
import { estimateText, MESSAGE_TOKENS } from '../tokens/estimate.js';
import { limitResults, resultCount, resultTokens, type TurnStep } from './turn-steps.js';

/** Prompt content that may be omitted, and the tokens of the rest. */
export interface Draft {
  /** Tokens that are never omitted: system prompt, tools, context, markers and labels. */
  fixedTokens: number;
  /** The most important first. */
  memories: readonly string[];
  /** Empty if there is none. */
  summary: string;
  /** The block with tool calls from earlier turns; empty if there are none. */
  recentCalls: string;
  /** Oldest first. */
  entries: readonly Entry[];
  /** Oldest first. */
  steps: readonly TurnStep[];
  omitted: Omitted;
}

/** Content that a prompt does not contain whole. */
export interface Omitted {
  toolResults: number;
  messages: number;
  memories: number;
  /** Whole steps. */
  steps: number;
}

/** The prompt does not fit, even with the shortest user message. */
export class ContextTooSmall extends Error {
  override name = 'ContextTooSmall';
}

/** The history is omitted in up to this number of parts, so that a growing turn changes the prompt's start rarely. */
const HISTORY_PARTS = 16;
/** Budget share for the newest results before other content is omitted, and for a message that is cut. */
const HALF = 0.5;

const sum = <T>(list: readonly T[], tokens: (item: T) => number): number =>
  list.reduce((total, item) => total + tokens(item), 0);

const lineTokens = (line: string): number => estimateText(line) + 1;

const callsTokens = (block: string): number => (block === '' ? 0 : estimateText(block) + MESSAGE_TOKENS);

/** The whole prompt's estimate; not below its messages' estimate. */
function draftTokens({ fixedTokens, memories, summary, recentCalls, entries, steps }: Draft): number {
  const history = sum(entries, ({ tokens }) => tokens) + sum(steps, ({ tokens }) => tokens);
  return fixedTokens + sum(memories, lineTokens) + estimateText(summary) + callsTokens(recentCalls) + history;
}

type Stage = (draft: Draft, budget: number) => Draft;

const withOmitted = (draft: Draft, more: Partial<Omitted>): Omitted => {
  const { toolResults = 0, messages = 0, memories = 0, steps = 0 } = more;
  const { omitted } = draft;
  return {
    toolResults: omitted.toolResults + toolResults,
    messages: omitted.messages + messages,
    memories: omitted.memories + memories,
    steps: omitted.steps + steps,
  };
};

function limitStep(draft: Draft, index: number, allowance: number): Draft {
  const current = draft.steps[index];
  if (current === undefined) return draft;
  const { step, omitted } = limitResults(current, allowance);
  return { ...draft, steps: draft.steps.with(index, step), omitted: withOmitted(draft, { toolResults: omitted }) };
}

const newestWithResults = ({ steps }: Draft): number => steps.findLastIndex((step) => resultCount(step) > 0);

/** Replaces earlier steps' results by markers. The model has used them already. */
const omitEarlierResults: Stage = (draft, budget) => {
  const newest = newestWithResults(draft);
  let next = draft;
  for (let index = 0; index < newest && draftTokens(next) > budget; index += 1) next = limitStep(next, index, 0);
  return next;
};

/** Leaves out tool calls from earlier turns. Their replies say the most important. */
const omitRecentCalls: Stage = (draft) => ({ ...draft, recentCalls: '' });

/** Shortens the newest results, so that one long page does not displace the whole conversation. */
const shortenNewestResults: Stage = (draft, budget) => limitStep(draft, newestWithResults(draft), budget * HALF);

const CUT_PICTURES = '[The picture is omitted to save context.]';

function withoutPictures(file: EntryFile): EntryFile {
  return file.pictures.length === 0 ? file : { ...file, text: `${file.text}\n${CUT_PICTURES}`.trim(), pictures: [] };
}

/** Leaves out pictures in earlier messages, oldest first: a picture takes as many tokens as many messages. */
const omitEarlierPictures: Stage = (draft, budget) => {
  let next = draft;
  for (const [index, entry] of draft.entries.entries()) {
    if (draftTokens(next) <= budget) break;
    if (entry.newest || !entry.files.some(({ pictures }) => pictures.length > 0)) continue;
    next = {
      ...next,
      entries: next.entries.with(index, toEntry({ ...entry, files: entry.files.map(withoutPictures) })),
    };
  }
  return next;
};

/** Shortens the files of the newest message, so that one book does not displace the whole conversation. */
const shortenNewestFiles: Stage = (draft, budget) => {
  const index = draft.entries.findIndex(({ newest }) => newest);
  const entry = draft.entries[index];
  return entry === undefined
    ? draft
    : { ...draft, entries: draft.entries.with(index, shortenFiles(entry, (budget - draft.fixedTokens) * HALF)) };
};

/** Leaves out the oldest messages. The newest user message stays. */
const omitHistory: Stage = (draft, budget) => {
  const atOnce = Math.ceil(draft.entries.length / HISTORY_PARTS);
  const removable = draft.entries.filter(({ newest }) => !newest);
  let next = draft;
  for (let count = atOnce; draftTokens(next) > budget; count += atOnce) {
    const removed = new Set(removable.slice(0, count));
    next = {
      ...draft,
      entries: draft.entries.filter((entry) => !removed.has(entry)),
      omitted: withOmitted(draft, { messages: removed.size }),
    };
    if (removed.size === removable.length) break;
  }
  return next;
};

const omitMemories: Stage = (draft, budget) => {
  const excess = draftTokens(draft) - budget;
  let kept = draft.memories.length;
  for (let freed = 0; kept > 0 && freed < excess;) {
    kept -= 1;
    freed += lineTokens(draft.memories[kept] ?? '');
  }
  const memories = draft.memories.slice(0, kept);
  return { ...draft, memories, omitted: withOmitted(draft, { memories: draft.memories.length - kept }) };
};

const shortenSummary: Stage = (draft, budget) => {
  const room = budget - draftTokens({ ...draft, summary: '' });
  return { ...draft, summary: cutMiddle(draft.summary, room) ?? '' };
};

/** Limits the newest results to the remaining space. */
const fitNewestResults: Stage = (draft, budget) => {
  const index = newestWithResults(draft);
  const step = draft.steps[index];
  if (step === undefined) return draft;
  const room = budget - (draftTokens(draft) - resultTokens(step));
  return limitStep(draft, index, Math.max(0, room));
};

/** Leaves out whole steps, such as calls with long arguments. */
const omitSteps: Stage = (draft, budget) => {
  let next = draft;
  while (next.steps.length > 0 && draftTokens(next) > budget) {
    next = { ...next, steps: next.steps.slice(1), omitted: withOmitted(next, { steps: 1 }) };
  }
  return next;
};

/** In order; each runs only while the prompt is too long. */
const STAGES: readonly Stage[] = [
  omitEarlierResults,
  omitRecentCalls,
  shortenNewestResults,
  omitEarlierPictures,
  shortenNewestFiles,
  omitHistory,
  omitMemories,
  shortenSummary,
  fitNewestResults,
  omitSteps,
];

/** Cuts each file to an equal share of `tokens`; then leaves out pictures, too. The message itself stays. */
function shortenFiles(entry: Entry, tokens: number): Entry {
  if (entry.files.length === 0 || entry.tokens <= tokens) return entry;
  const share = Math.max(0, tokens - toEntry({ ...entry, files: [] }).tokens) / entry.files.length;
  const files = entry.files.map((file) => {
    const others = toEntry({ ...entry, text: '', files: [{ ...file, text: '' }] }).tokens;
    return { ...file, text: cutMiddle(file.text, share - others) ?? '' };
  });
  const shortened = toEntry({ ...entry, files });
  return shortened.tokens <= tokens ? shortened : toEntry({ ...entry, files: files.map(withoutPictures) });
}

const shortest = (text: string, tokens: number): string => cutMiddle(text, tokens) ?? text;

/**
 * Cuts the newest message if it does not fit even alone. At least half of the space remains for it, and enough for the
 * rest of this turn, so that the agent can use tools.
 * @param least the tokens that are left for it in any case; the prompt can then exceed the budget
 * @throws ContextTooSmall unless `least` is given
 */
function cutNewestMessage(draft: Draft, budget: number, least: number | undefined): Draft {
  const index = draft.entries.findIndex(({ newest }) => newest);
  const entry = draft.entries[index];
  const room = Math.max(budget - draft.fixedTokens, least ?? -Infinity);
  if (room <= 0)
    throw new ContextTooSmall(`The context needs at least ${Math.ceil(draft.fixedTokens)} tokens besides the message.`);
  if (entry === undefined || entry.tokens <= room) return draft;
  const turn = shortenNewestResults(omitEarlierResults(draft, 0), room * HALF);
  const left = Math.max(room * HALF, room - sum(turn.steps, ({ tokens }) => tokens));
  const shortened = shortenFiles(entry, left);
  const changed = (one: Entry): Draft => ({ ...draft, entries: draft.entries.with(index, one) });
  if (shortened.tokens <= left) return changed(shortened);
  const allowed = left - toEntry({ ...shortened, text: '' }).tokens;
  const text = cutMiddle(entry.text, allowed) ?? (least === undefined ? undefined : shortest(entry.text, least));
  if (text === undefined)
    throw new ContextTooSmall(`The context has only ${Math.floor(allowed)} tokens for the message.`);
  return changed(toEntry({ ...shortened, text }));
}

/**
 * Omits content until the prompt fits into `budget` tokens of unscaled estimate: earlier tool results, earlier turns'
 * calls, long new results, pictures in earlier messages, long new files, the oldest history, memories, the summary, then
 * whole steps. The newest user message is cut only if it exceeds the budget alone.
 * @param least see `cutNewestMessage`
 * @throws ContextTooSmall unless `least` is given
 */
export function fit(draft: Draft, budget: number, least?: number): Draft {
  let fitted = cutNewestMessage(draft, budget, least);
  for (const stage of STAGES) {
    if (draftTokens(fitted) <= budget) return fitted;
    fitted = stage(fitted, budget);
  }
  if (draftTokens(fitted) > budget && least === undefined)
    throw new ContextTooSmall('The context is too small for this turn.');
  return fitted;
}
