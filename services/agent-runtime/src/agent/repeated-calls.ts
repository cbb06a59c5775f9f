import { isDeepStrictEqual } from 'node:util';
import { type ToolCallPart, toolCallsOf } from '../tool-calls-of.js';
import type { TurnState } from './turn-state.js';

/** Steps in a row with an equal call, of which the last one does not run. */
const MAX_EQUAL_STEPS = 3;

/** Ids of the open step's calls that the two steps before have made, too: a model in a loop would use up its steps. Pure. */
export function repeatedCalls({ turn, open }: Pick<TurnState, 'turn' | 'open'>): Set<string> {
  const steps = turn.filter(({ role }) => role === 'assistant').map(toolCallsOf);
  const before = steps.slice(-MAX_EQUAL_STEPS, -1);
  if (open === undefined || before.length < MAX_EQUAL_STEPS - 1) return new Set();
  const isRepeated = ({ toolName, input }: ToolCallPart): boolean =>
    before.every((calls) => calls.some((call) => call.toolName === toolName && isDeepStrictEqual(call.input, input)));
  return new Set((steps.at(-1) ?? []).filter(isRepeated).map(({ toolCallId }) => toolCallId));
}
