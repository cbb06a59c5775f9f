import type { RunTurnRequest } from '@uswarm/runtime-proto';
import { type ContextLimits, promptBudget } from '../tokens/budget.js';
import { estimateTools } from '../tokens/estimate.js';
import type { FunctionTool } from '../models/port.js';

export interface RequestedTool {
  definition: FunctionTool;
  /** Undefined if the tool is always offered, see `ListedTool`. */
  hint: string | undefined;
}

/** A turn's tools that the orchestrator executes. @throws SyntaxError if a schema is not JSON */
export const requestedTools = ({ requestedTools: tools }: Pick<RunTurnRequest, 'requestedTools'>): RequestedTool[] =>
  tools.map(({ name, description, inputSchema, hint }) => ({
    definition: {
      type: 'function',
      name,
      description,
      inputSchema: JSON.parse(inputSchema) as FunctionTool['inputSchema'],
    },
    hint: hint === '' ? undefined : hint,
  }));

/** Share of the prompt that tools may have. Models with a small context get fewer tools. */
const SHARE = 1 / 2;

/** The first tools that fit into the prompt besides the other ones. Pure. */
export function fittingTools(
  requested: readonly FunctionTool[],
  others: readonly FunctionTool[],
  limits: ContextLimits,
): FunctionTool[] {
  const budget = promptBudget(limits) * SHARE;
  const tooMany = requested.findIndex(
    (_, index) => estimateTools([...others, ...requested.slice(0, index + 1)]) > budget,
  );
  return requested.slice(0, tooMany === -1 ? requested.length : tooMany);
}
