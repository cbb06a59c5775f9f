import type { Logger } from '@uswarm/service-kit';
import { storableJson } from '../turns/agent-content-schema.js';
import type { Commit, PlatformTool, ToolCall } from './platform-tool.js';

/** The outcome of a call that could not be prepared. */
export const unavailable =
  (name: string): Commit =>
  () =>
    Promise.resolve({
      text: `${name} is not available at the moment. Nothing was changed. Tell the user, or try again later.`,
      failed: true,
    });

/** The arguments of a call, which the runtime sends as JSON. Tools reject all values except objects. */
export function parseArguments(json: string): unknown {
  try {
    return storableJson(JSON.parse(json));
  } catch {
    return undefined;
  }
}

/** Prepares the call of a tool. A failure becomes the outcome of the call, because nothing was changed. */
export async function prepareCall(
  tool: PlatformTool,
  input: unknown,
  call: ToolCall,
  logger: Pick<Logger, 'error'>,
): Promise<Commit> {
  try {
    return await tool.prepare(input, call);
  } catch (error) {
    logger.error({ err: error, tool: tool.name, turn: call.turnId }, 'a tool call failed');
    return unavailable(tool.name);
  }
}
