import type { Logger } from '@uswarm/service-kit';
import { storableJson } from '../turns/agent-content-schema.js';
import { oneLine } from './one-line.js';
import type { Commit, PlatformTool, ToolCall } from './platform-tool.js';

const UNAVAILABLE = 'is not available at the moment. Nothing was changed. Tell the user, or try again later.';

/** The arguments of a call, which the runtime sends as JSON. Tools reject all values except objects. */
function parse(json: string): unknown {
  try {
    return storableJson(JSON.parse(json));
  } catch {
    return undefined;
  }
}

/** Prepares the call of a tool. A failure becomes the outcome of the call, because nothing was changed. */
export async function prepareCall(
  tool: PlatformTool,
  json: string,
  call: ToolCall,
  logger: Pick<Logger, 'error'>,
): Promise<{ description: string; commit: Commit }> {
  const input = parse(json);
  const description = oneLine(tool.describe(input));
  try {
    return { description, commit: await tool.prepare(input, call) };
  } catch (error) {
    logger.error({ err: error, tool: tool.name, turn: call.turnId }, 'a tool call failed');
    return { description, commit: () => Promise.resolve({ text: `${tool.name} ${UNAVAILABLE}`, failed: true }) };
  }
}
