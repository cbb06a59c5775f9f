import { serverOfTool } from '@uswarm/contract/agent-tools';
import type { Agent, RunTurnRequest } from '@uswarm/runtime-proto';
import type { FunctionTool, PromptMessage } from '../models/port.js';
import type { ContextLimits } from '../tokens/budget.js';
import { builtInTools } from './built-in-tools.js';
import type { BuiltInTool, ListedTool } from './define-tool.js';
import { describedTool } from './described-tool.js';
import { createFindTools } from './find-tools.js';
import { createMoreTools, loadedIn } from './more-tools.js';
import { fittingTools, type RequestedTool, requestedTools } from './requested-tools.js';
import type { ToolSource } from './tool.js';

/** The tools of one turn. */
export interface Offer {
  builtIn: readonly BuiltInTool[];
  /** Tools that the orchestrator executes. */
  requested: ReadonlySet<string>;
  /** A sentence that explains why tools are missing. */
  problem: string | undefined;
  /** The tools that are listed. A model can call them without loading them, though it has to guess the arguments. */
  listed: readonly FunctionTool[];
  /** All tools that the model can call. */
  names: ReadonlySet<string>;
  /** The tools for the next model call, after these steps. */
  after(turn: readonly PromptMessage[]): FunctionTool[];
}

async function serverTools(
  source: ToolSource,
  names: readonly string[],
  signal: AbortSignal,
): Promise<{ tools: FunctionTool[]; problem?: string }> {
  if (names.length === 0) return { tools: [] };
  try {
    const listed = await source.list(signal);
    return { tools: listed.filter(({ name }) => names.includes(name)).map(describedTool) };
  } catch (error) {
    signal.throwIfAborted();
    return { tools: [], problem: error instanceof Error ? error.message : String(error) };
  }
}

const isListed = (tool: RequestedTool): tool is RequestedTool & ListedTool => tool.hint !== undefined;

/** Offers what most turns need, and lists the rest, so that a simple question does not pay for all schemas. */
export async function createOffer(
  request: RunTurnRequest,
  agent: Agent,
  { source, limits, signal }: { source: ToolSource; limits: ContextLimits; signal: AbortSignal },
): Promise<Offer> {
  const own = builtInTools(agent, request);
  const ownNames = new Set([...own.direct, ...own.listed].map(({ definition }) => definition.name));
  const { tools: remote, problem } = await serverTools(
    source,
    request.tools.filter((name) => !ownNames.has(name)),
    signal,
  );
  const known = requestedTools(request);
  const listed: ListedTool[] = [...own.listed, ...known.filter(isListed)];
  const searched = listed.filter(({ definition }) => serverOfTool(definition.name) !== undefined);
  const find = searched.length === 0 ? undefined : createFindTools(searched);
  const named = listed.filter((tool) => !searched.includes(tool));
  const more = [...(named.length === 0 ? [] : [createMoreTools(named)]), ...(find === undefined ? [] : [find])];
  const builtIn = [...own.direct, ...own.listed, ...more];
  const always = [...remote, ...[...own.direct, ...more].map(({ definition }) => definition)];
  const direct = known.filter((tool) => !isListed(tool)).map(({ definition }) => definition);
  const fitting = fittingTools(direct, always, limits);
  const definitions = listed.map(({ definition }) => definition);
  return {
    builtIn,
    requested: new Set(known.map(({ definition }) => definition.name)),
    problem,
    listed: definitions,
    names: new Set([...always, ...fitting, ...definitions].map(({ name }) => name)),
    after: (turn) => [...always, ...fitting, ...loadedIn(turn, listed, find)],
  };
}
