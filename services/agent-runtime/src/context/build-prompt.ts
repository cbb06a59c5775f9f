import type { Agent, RunTurnRequest } from '@uswarm/runtime-proto';
import { visibleText } from '@uswarm/service-kit';
import { modelText } from '../text/model-text.js';
import type { FunctionTool, Prompt, PromptMessage } from '../models/port.js';
import type { UntrustedBlock } from '../text/untrusted-block.js';
import { type ContextLimits, effectiveScale, promptBudget } from '../tokens/budget.js';
import { ContextTooSmall, type Draft, fit, type Omitted } from './compaction.js';
import { type Entry, entryMessage, toEntries } from './conversation.js';
import { describeContext } from './describe-context.js';
import { describeCalls } from './recent-calls.js';
import { estimatePrompt, estimateText, estimateTools, MESSAGE_TOKENS } from '../tokens/estimate.js';
import { withCacheBreakpoints } from './cache-breakpoints.js';
import { mergeNeighbours, userMessage } from './messages.js';
import { systemPrompt } from './system-prompt.js';
import { toSteps } from './turn-steps.js';

export interface PromptInput {
  request: RunTurnRequest;
  /** The agent that answers. */
  agent: Agent;
  /** A sentence that explains why tools are missing. */
  toolProblem?: string | undefined;
  /** The request's tools; they are part of the budget. */
  tools: readonly FunctionTool[];
  /** Steps and tool results in this turn so far. Tool output is in untrusted blocks already. */
  turn: readonly PromptMessage[];
  limits: ContextLimits;
  /** Corrects token estimates for this model, see `scaleOf`. */
  scale: number;
  /**
   * Tokens of unscaled estimate that the server has shown to accept. The prompt is then as small as it can be made, but is not
   * rejected if it exceeds them: estimates are often above the true counts, and the server decides.
   */
  shown?: number | undefined;
  untrusted: UntrustedBlock;
}

export interface BuiltPrompt {
  prompt: Prompt;
  /** The scaled estimate of prompt and tools; at most the budget. */
  estimatedTokens: number;
  omitted: Omitted;
}

/** Without the second sentence, small models search the web for a fact that a memory has. */
const MEMORIES_LABEL =
  'Your memories of the user and the work. If they have the answer, give it in your own words, without a tool:';
const CALLS_LABEL = 'Tool calls for earlier messages, with the sources of their results:';
const SUMMARY_LABEL = 'Summary of the earlier conversation:';
const HISTORY_MARKER = '[Earlier messages are omitted to save context.]';
const STEPS_MARKER = '[Earlier steps of your reply are omitted to save context.]';
const AGENT_STARTS = '[The conversation starts with your message.]';
const CONTINUE = '[Continue your reply.]';
const NO_NEW_MESSAGE = '[The user has not written a new message.]';
const UNKNOWN_CONTEXT = 'The date is not known.';

/** Tokens of the newest message that every prompt has. */
const LEAST_MESSAGE = 250;

/** The ids of two untrusted blocks, whose estimate depends on their digits. */
const BLOCK_TOKENS = 200;

function memoryLines({ memories }: RunTurnRequest): string[] {
  const line = (text: string): string =>
    modelText(text)
      .replaceAll(/\s*\n\s*/g, ' ')
      .trim();
  return memories.map(({ category, key, content }) => `- [${line(category)}] ${line(key)}: ${line(content)}`);
}

function contextLines({ request, toolProblem }: PromptInput): string[] {
  const problem = toolProblem === undefined ? [] : [`Your tools cannot be used right now. ${visibleText(toolProblem)}`];
  return [...describeContext(request.context), ...problem];
}

function callsBlock({ recentCalls }: RunTurnRequest, untrusted: UntrustedBlock): string {
  const calls = describeCalls(recentCalls);
  return calls === '' ? '' : `${CALLS_LABEL}\n${untrusted('tool_calls', calls)}`;
}

/** Starts the first message: data that earlier turns, models or the user wrote. */
function preamble({ memories, summary, omitted }: Draft, untrusted: UntrustedBlock): string[] {
  return [
    ...(memories.length === 0 ? [] : [`${MEMORIES_LABEL}\n${untrusted('memories', memories.join('\n'))}`]),
    ...(summary.trim() === '' ? [] : [`${SUMMARY_LABEL}\n${untrusted('summary', summary)}`]),
    ...(omitted.messages === 0 ? [] : [HISTORY_MARKER]),
  ];
}

/** The block is always there after a preamble, so that the user's words have a known start. */
function contextBlock(lines: readonly string[], needed: boolean): string[] {
  if (lines.length === 0 && !needed) return [];
  return [`<context>\n${(lines.length === 0 ? [UNKNOWN_CONTEXT] : lines).join('\n')}\n</context>`];
}

/** The history with preamble and context. Starts and ends with a user message. */
function history(draft: Draft, context: readonly string[], untrusted: UntrustedBlock): PromptMessage[] {
  const start = preamble(draft, untrusted);
  const { entries } = draft;
  const lastOwn = entries.findLastIndex(({ role }) => role === 'assistant');
  const earlier = entries.slice(0, lastOwn + 1);
  const newer = entries.slice(lastOwn + 1);
  const first = start.length === 0 && earlier[0]?.role === 'assistant' ? [AGENT_STARTS] : start;
  const steps = draft.omitted.steps === 0 ? [] : [STEPS_MARKER];
  const calls = draft.recentCalls === '' ? [] : [draft.recentCalls];
  const said = (texts: readonly string[]): PromptMessage[] => texts.map((text) => userMessage(text));
  const entry = (one: Entry): PromptMessage => entryMessage(one, untrusted);
  return mergeNeighbours([
    ...said(first),
    ...earlier.map(entry),
    ...said([...calls, ...contextBlock(context, calls.length > 0 || (earlier.length === 0 && start.length > 0))]),
    ...(newer.length === 0 ? said([NO_NEW_MESSAGE]) : newer.map(entry)),
    ...said(steps),
  ]);
}

/** Tokens of everything that is never omitted, with the markers that may be added. */
function fixedTokens(input: PromptInput, system: string, context: readonly string[]): number {
  const texts = [MEMORIES_LABEL, SUMMARY_LABEL, HISTORY_MARKER, STEPS_MARKER, AGENT_STARTS, NO_NEW_MESSAGE, CONTINUE];
  const written = [system, ...contextBlock(context, true), ...texts];
  return written.reduce(
    (sum, text) => sum + estimateText(text) + MESSAGE_TOKENS,
    BLOCK_TOKENS + estimateTools(input.tools),
  );
}

/**
 * Builds the prompt for one model call so that it fits into the model's context: system prompt, memories, summary,
 * history, steps of this turn. Roles alternate. Only the system prompt has the system role; text from models, tools or
 * other agents is in untrusted blocks. Equal inputs give equal prompts.
 * @throws ContextTooSmall unless `shown` is given
 */
export function buildPrompt(input: PromptInput): BuiltPrompt {
  const { request, agent, tools, turn, limits, untrusted } = input;
  const scale = effectiveScale(input.scale);
  const system = systemPrompt({
    agent,
    colleagues: request.colleagues,
    tools: tools.map(({ name }) => name),
    isTask: request.isTask,
  });
  const context = contextLines(input);
  const draft = fit(
    {
      fixedTokens: fixedTokens(input, system, context),
      memories: memoryLines(request),
      summary: modelText(request.summary).trim(),
      recentCalls: callsBlock(request, untrusted),
      entries: toEntries(request, agent, untrusted),
      steps: toSteps(turn),
      omitted: { toolResults: 0, messages: 0, memories: 0, steps: 0 },
    },
    Math.min(promptBudget(limits) / scale, input.shown ?? Infinity),
    input.shown === undefined ? undefined : LEAST_MESSAGE,
  );
  const before = history(draft, context, untrusted);
  const said = mergeNeighbours([...before, ...draft.steps.flatMap(({ messages }) => messages)]);
  // Some models reject a prompt that ends with their own words.
  const end = said.at(-1)?.role === 'assistant' ? [userMessage(CONTINUE)] : [];
  const prompt: Prompt = [{ role: 'system', content: system }, ...said, ...end];
  const estimatedTokens = Math.ceil(estimatePrompt(prompt, tools) * scale);
  if (estimatedTokens > promptBudget(limits) && input.shown === undefined)
    throw new ContextTooSmall('The context is too small for this turn.');
  return { prompt: withCacheBreakpoints(prompt, before.length), estimatedTokens, omitted: draft.omitted };
}
