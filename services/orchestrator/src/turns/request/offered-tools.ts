import { create } from '@bufbuild/protobuf';
import { type ToolSpec, ToolSpecSchema } from '@uswarm/runtime-proto';
import { oneLine } from '../../records/one-line.js';
import { isServerTool, type PlatformTool, type Subject } from '../tools/platform-tool.js';
import type { HistoryRow } from './history.store.js';
import type { TurnContext } from './turn-contexts.store.js';

/** Finds out which tools the conversation makes useful. Pure. */
export function subjectsOf(
  history: readonly Pick<HistoryRow, 'artifact' | 'attachments' | 'covered'>[],
  { agentContext, summary }: Pick<TurnContext, 'agentContext' | 'summary'>,
): Set<Subject> {
  return new Set<Subject>([
    ...(history.some(({ artifact }) => artifact === true) ? (['artifacts'] as const) : []),
    ...(history.some(({ attachments }) => attachments !== undefined) ? (['files'] as const) : []),
    ...(agentContext.memories.length > 0 ? (['memories'] as const) : []),
    ...(summary !== null ? (['past'] as const) : []),
  ]);
}

/** With more tools than this, server tools are searched instead of offered. */
const OFFERED = 24;
const SUMMARY = 100;

const summary = (description: string): string => oneLine(description).slice(0, SUMMARY).toWellFormed();

/**
 * The tools as the model sees them: those with a hint are listed, unless the conversation has what they work on or an agent has
 * used them in its last turns. Pure.
 */
export const offeredTools = (
  tools: readonly PlatformTool[],
  subjects: ReadonlySet<Subject>,
  recent: ReadonlySet<string>,
): ToolSpec[] => {
  const isMany = tools.length > OFFERED;
  return tools.map((tool) => {
    const { name, description, inputSchema, offeredFor } = tool;
    const hint = isMany && isServerTool(name) ? (tool.hint ?? summary(description)) : tool.hint;
    const isNeeded = recent.has(name) || (offeredFor !== undefined && subjects.has(offeredFor));
    return create(ToolSpecSchema, {
      name,
      description,
      inputSchema: JSON.stringify(inputSchema),
      ...(hint === undefined || isNeeded ? {} : { hint }),
    });
  });
};
