import { TOOL_SERVER_TOOLS } from '@uswarm/contract/agent-tools';
import type { FunctionTool } from '../models/port.js';

/**
 * A server's tool with our own description and schema, if we have them: a model follows what a description asks for.
 */
export function describedTool(tool: FunctionTool): FunctionTool {
  const described = Object.hasOwn(TOOL_SERVER_TOOLS, tool.name) ? TOOL_SERVER_TOOLS[tool.name] : undefined;
  return described === undefined ? tool : { type: 'function', name: tool.name, ...structuredClone(described) };
}
