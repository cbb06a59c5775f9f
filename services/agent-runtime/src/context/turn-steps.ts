import type { AssistantMessage, PromptMessage } from '../models/port.js';
import { type ToolCallPart, toolCallsOf } from '../tool-calls-of.js';
import { cutMiddle } from './cut.js';
import { estimateMessage, estimateOutput, estimateText } from '../tokens/estimate.js';
import type { ToolOutput, ToolResultPart } from './messages.js';

/** Replaces a tool result that was omitted. */
export const RESULT_MARKER = '[This result is omitted to save context. Call the tool again if you still need it.]';

const NO_RESULT = 'The call was interrupted and has no result.';

/** One of this turn's model calls, its tool results, and the runtime's messages after it. */
export interface TurnStep {
  messages: readonly PromptMessage[];
  tokens: number;
}

const toStep = (messages: readonly PromptMessage[]): TurnStep => ({
  messages,
  tokens: messages.reduce((sum, message) => sum + estimateMessage(message), 0),
});

const isResult = (part: { type: string }): part is ToolResultPart => part.type === 'tool-result';

const callsOf = (message: AssistantMessage): ToolCallPart[] =>
  toolCallsOf(message).filter(({ providerExecuted }) => providerExecuted !== true);

/** Providers reject messages without text and calls. */
function hasContent(message: AssistantMessage): boolean {
  return message.content.some((part) => part.type !== 'reasoning' && (part.type !== 'text' || part.text.trim() !== ''));
}

/** One result per call, in call order. */
function pair(calls: readonly ToolCallPart[], results: readonly ToolResultPart[]): ToolResultPart[] {
  return calls.map(({ toolCallId, toolName }) => {
    const found = results.find((result) => result.toolCallId === toolCallId);
    return found ?? { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value: NO_RESULT } };
  });
}

/**
 * The turn's steps so far. Each call has exactly one result, directly after it; other results and empty messages are
 * left out. Model output is unchanged, so that signatures remain valid.
 */
export function toSteps(turn: readonly PromptMessage[]): TurnStep[] {
  const groups: { assistant?: AssistantMessage; results: ToolResultPart[]; said: PromptMessage[] }[] = [];
  for (const message of turn) {
    const current = groups.at(-1);
    if (message.role === 'assistant') groups.push({ assistant: message, results: [], said: [] });
    else if (message.role === 'tool') current?.results.push(...message.content.filter(isResult));
    else if (message.role === 'user') {
      if (current === undefined) groups.push({ results: [], said: [message] });
      else current.said.push(message);
    }
  }
  const steps = groups.map(({ assistant, results, said }) => {
    if (assistant === undefined || !hasContent(assistant)) return toStep(said);
    const paired = pair(callsOf(assistant), results);
    const tool: PromptMessage[] = paired.length === 0 ? [] : [{ role: 'tool', content: paired }];
    return toStep([assistant, ...tool, ...said]);
  });
  return steps.filter(({ messages }) => messages.length > 0);
}

function resultsOf({ messages }: TurnStep): ToolResultPart[] {
  return messages.flatMap((message) => (message.role === 'tool' ? message.content.filter(isResult) : []));
}

export const resultCount = (step: TurnStep): number => resultsOf(step).length;

/** The estimate for the results alone. */
export const resultTokens = (step: TurnStep): number =>
  resultsOf(step).reduce((sum, { output }) => sum + estimateOutput(output), 0);

function textOf(output: ToolOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'execution-denied':
      return output.reason ?? '';
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'content':
      return output.value.map((part) => (part.type === 'text' ? part.text : `[omitted: ${part.type}]`)).join('\n');
  }
}

/** The output within `maxTokens`: whole, without its middle, or the marker. An output shorter than the marker stays. */
function limited(output: ToolOutput, maxTokens: number): ToolOutput {
  const tokens = estimateOutput(output);
  if (tokens <= Math.max(maxTokens, estimateText(RESULT_MARKER))) return output;
  return { type: 'text', value: cutMiddle(textOf(output), maxTokens) ?? RESULT_MARKER };
}

/** The greatest size per result with which all of them have at most `allowance` tokens. */
function shareOf(sizes: readonly number[], allowance: number): number {
  let left = allowance;
  let share = 0;
  for (const [index, size] of sizes.toSorted((one, other) => one - other).entries()) {
    share = left / (sizes.length - index);
    if (size > share) return share;
    left -= size;
  }
  return share;
}

/**
 * The step with results of at most `allowance` tokens together, if their markers fit into it. Small results stay whole;
 * `allowance` 0 replaces all results by markers.
 */
export function limitResults(step: TurnStep, allowance: number): { step: TurnStep; omitted: number } {
  const results = resultsOf(step);
  const sizes = results.map(({ output }) => estimateOutput(output));
  if (sizes.reduce((sum, size) => sum + size, 0) <= allowance) return { step, omitted: 0 };
  const share = shareOf(sizes, allowance);
  let omitted = 0;
  const messages = step.messages.map((message): PromptMessage => {
    if (message.role !== 'tool') return message;
    const content = message.content.map((part) => {
      if (!isResult(part)) return part;
      const output = limited(part.output, share);
      if (output !== part.output && output.type === 'text' && output.value === RESULT_MARKER) omitted += 1;
      return { ...part, output };
    });
    return { ...message, content };
  });
  return { step: toStep(messages), omitted };
}
