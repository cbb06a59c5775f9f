import type { Logger } from '@uswarm/service-kit';
import { storableJson } from '../content/agent-content-schema.js';
import { failed, withOutcome } from './outcomes.js';
import { AccountNeeded, type Commit, type OwnTool, type ToolCall, type ToolOutcome } from './platform-tool.js';

/** The call failed before it changed anything. */
export const unavailable = (name: string): ToolOutcome =>
  failed(`${name} is not available at the moment. Nothing was changed. Tell the user, or try again later.`);

/** Arguments arrive as JSON. Null means no arguments. Tools reject all other values except objects. */
export function parseArguments(json: string): unknown {
  try {
    return storableJson(JSON.parse(json) ?? {});
  } catch {
    return undefined;
  }
}

/** Turns a failure into the call's outcome, because nothing was changed. @throws AccountNeeded */
export async function prepareCall(
  tool: OwnTool,
  input: unknown,
  call: ToolCall,
  logger: Pick<Logger, 'error'>,
): Promise<Commit> {
  try {
    return await tool.prepare(input, call);
  } catch (error) {
    if (error instanceof AccountNeeded) throw error;
    logger.error({ err: error, tool: tool.name, turn: call.turnId }, 'a tool call failed');
    return withOutcome(unavailable(tool.name));
  }
}
