import type { Logger } from '@uswarm/service-kit';
import { storableJson } from '../content/agent-content-schema.js';
import { failed, withOutcome } from './outcomes.js';
import type { Commit, OwnTool, ToolCall, ToolOutcome } from './platform-tool.js';

/** The outcome of a call that failed before it changed anything. */
export const unavailable = (name: string): ToolOutcome =>
  failed(`${name} is not available at the moment. Nothing was changed. Tell the user, or try again later.`);

/** The arguments of a call, which the runtime sends as JSON. Null means no arguments. Tools reject all other values except objects. */
export function parseArguments(json: string): unknown {
  try {
    return storableJson(JSON.parse(json) ?? {});
  } catch {
    return undefined;
  }
}

/** Prepares the call of a tool. A failure becomes the outcome of the call, because nothing was changed. */
export async function prepareCall(
  tool: OwnTool,
  input: unknown,
  call: ToolCall,
  logger: Pick<Logger, 'error'>,
): Promise<Commit> {
  try {
    return await tool.prepare(input, call);
  } catch (error) {
    logger.error({ err: error, tool: tool.name, turn: call.turnId }, 'a tool call failed');
    return withOutcome(unavailable(tool.name));
  }
}
